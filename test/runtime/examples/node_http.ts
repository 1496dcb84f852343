import { createServer } from "node:http";
import { createPlatform, MasterSecret, seedPlatform } from "grandstand";
import { createMemoryStore } from "grandstand/memory";
import { toNodeListener } from "grandstand/node";

const [organisationId, spaceId, projectId] = [
  "00000000-0000-4000-8000-000000000001",
  "00000000-0000-4000-8000-000000000002",
  "00000000-0000-4000-8000-000000000003",
];
const store = createMemoryStore(); // or createRedisStore({ server: "redis://127.0.0.1" }) of grandstand/redis
await seedPlatform(store, {
  organisations: [{ id: organisationId, name: "Club" }],
  spaces: [{ id: spaceId, organisationId, name: "Fans" }],
  projects: [{ id: projectId, organisationId, spaceId, name: "League" }],
  events: [],
});
const secret = new MasterSecret(process.env.GRANDSTAND_SECRET ?? crypto.randomUUID());
const clientAddress = { trustedProxies: ["127.0.0.1"] };
const platform = await createPlatform({ store, secret, clientAddress, defaultSpaceId: spaceId });
const server = createServer(toNodeListener(platform.fetch));
server.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => console.log(server.address()));
