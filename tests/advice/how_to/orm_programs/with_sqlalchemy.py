"""Saves and finds orders by the mapping in shop.py: `DATABASE PARAMETERS-OF-THE-CONNECTION`."""

import json
import sys

from shop import Base, Order
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

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
