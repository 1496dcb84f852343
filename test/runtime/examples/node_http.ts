import { createServer } from "node:http";
import { createPlatform, MasterSecret, seedPlatform } from "grandstand";
import { createMemoryStore } from "grandstand/memory";
import { nativeKernels } from "grandstand/native";
import { toNodeListener } from "grandstand/node";

const store = createMemoryStore(); // on Redis: createRedisStore({ server: "redis://127.0.0.1" }) of grandstand/redis
const [organisationId, spaceId] = [
  "00000000-0000-4000-8000-000000000001",
  "00000000-0000-4000-8000-000000000002",
];
await seedPlatform(store, {
  organisations: [{ id: organisationId, name: "Club" }],
  spaces: [{ id: spaceId, organisationId, name: "Fans" }],
  projects: [{ id: "00000000-0000-4000-8000-000000000003", organisationId, spaceId, name: "League" }],
  events: [],
});
// A random secret is enough for a store in memory. With any other, set one and keep it.
const secret = new MasterSecret(process.env.GRANDSTAND_SECRET ?? crypto.randomUUID());
const passwordKernels = nativeKernels();
// The proxy in front, whose X-Forwarded-For says who the client is. Leave it out if clients connect directly.
const clientAddress = { trustedProxies: ["127.0.0.1"] };
const platform = await createPlatform({
  ...{ store, secret, passwordKernels, clientAddress },
  defaultSpaceId: spaceId,
});
const server = createServer(toNodeListener(platform.fetch));
server.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on", server.address());
});
