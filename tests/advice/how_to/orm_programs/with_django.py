"""Saves and finds orders by the mapping in shop/models.py: `DATABASE PARAMETERS-OF-THE-CONNECTION`."""

import json
import sys

import django
import pymysql
from django.conf import settings
from django.db import connection

pymysql.install_as_MySQLdb()
backend = {"sqlite": "sqlite3", "mariadb": "mysql"}.get(sys.argv[1], sys.argv[1])
names = {"path": "NAME", "dbname": "NAME", "database": "NAME", "unix_socket": "HOST"}
there = {names.get(name, name.upper()): value for name, value in json.loads(sys.argv[2]).items()}
there["ENGINE"] = f"django.db.backends.{backend}"
settings.configure(DATABASES={"default": there}, INSTALLED_APPS=["shop"])
django.setup()
Order = django.apps.apps.get_model("shop", "Order")
with connection.schema_editor() as editor:
    editor.create_model(Order)
for _ in range(2):
    order = Order()
    order.save()
    assert Order.objects.get(pk=order.pk).pk == order.pk
    print(order.pk)
