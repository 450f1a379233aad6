"""Saves and finds orders by the mapping in shop/models.py: `DATABASE PARAMETERS-OF-THE-CONNECTION`."""

import json
import sys
import uuid

import django
import pymysql
import uuid_utils.compat
from django.conf import settings

uuid.uuid7 = getattr(uuid, "uuid7", uuid_utils.compat.uuid7)  # Python before 3.14
pymysql.install_as_MySQLdb()
database, at = sys.argv[1], json.loads(sys.argv[2])
backend = {"sqlite": "sqlite3", "mariadb": "mysql"}.get(database, database)
names = {"path": "NAME", "dbname": "NAME", "database": "NAME", "unix_socket": "HOST"}
there = {names.get(name, name.upper()): value for name, value in at.items()}
settings.configure(DATABASES={"default": {"ENGINE": f"django.db.backends.{backend}", **there}}, INSTALLED_APPS=["shop"])
django.setup()

from django.db import connection  # noqa: E402
from shop.models import Order  # noqa: E402

with connection.schema_editor() as editor:
    editor.create_model(Order)
for _ in range(2):
    order = Order()
    order.save()
    assert Order.objects.get(pk=order.pk).pk == order.pk
    print(order.pk)
