// Saves and finds orders by the mapping in shop.ts: `DATABASE PARAMETERS-OF-THE-CONNECTION`.
import "reflect-metadata";
import { DataSource } from "typeorm";
import { Order } from "./shop";

const [, , database, text] = process.argv;
const at = JSON.parse(text);
const type = { sqlite: "sqljs", postgresql: "postgres" }[database] ?? database;
const driver = { type, location: at.path, autoSave: true, username: at.user, socketPath: at.unix_socket, ...at };

(async () => {
  const source = new DataSource({ ...driver, entities: [Order], synchronize: true });
  await source.initialize();
  const orders = source.getRepository(Order);
  for (let i = 0; i < 2; i++) {
    const { id } = await orders.save(new Order());
    await orders.findOneByOrFail({ id });
    console.log(id);
  }
  await source.destroy();
})();
