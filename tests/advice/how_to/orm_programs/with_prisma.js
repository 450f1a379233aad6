// Saves and finds orders by the mapping in schema.prisma: `DATABASE PARAMETERS-OF-THE-CONNECTION`.
const { PrismaClient } = require("@prisma/client");
const { PrismaPg } = require("@prisma/adapter-pg");

const prisma = new PrismaClient({ adapter: new PrismaPg(JSON.parse(process.argv[3])) });

(async () => {
  for (let i = 0; i < 2; i++) {
    const { id } = await prisma.order.create({ data: {} });
    await prisma.order.findUniqueOrThrow({ where: { id } });
    console.log(id);
  }
  await prisma.$disconnect();
})();
