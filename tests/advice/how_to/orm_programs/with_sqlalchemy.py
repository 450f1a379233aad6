"""Saves and finds orders by the mapping in shop.py: `DATABASE PARAMETERS-OF-THE-CONNECTION`."""

import json
import sys
import uuid

import uuid_utils.compat

uuid.uuid7 = getattr(uuid, "uuid7", uuid_utils.compat.uuid7)  # Python before 3.14

from shop import Base, Order  # noqa: E402
from sqlalchemy import create_engine  # noqa: E402
from sqlalchemy.orm import Session  # noqa: E402

database, at = sys.argv[1], json.loads(sys.argv[2])
drivers = {"postgresql": "postgresql+psycopg://", "sqlite": f"sqlite:///{at.pop('path', '')}"}
engine = create_engine(drivers.get(database, f"{database}+pymysql://"), connect_args=at)
Base.metadata.create_all(engine)
for _ in range(2):
    with Session(engine) as session:
        session.add(order := Order())
        session.commit()
        print(key := order.id)
    with Session(engine) as session:
        assert session.get(Order, key) is not None
