import { createPlatform, MasterSecret, seedPlatform } from "grandstand";
import { createMemoryStore } from "grandstand/memory";

const [organisationId, spaceId] = [
  "00000000-0000-4000-8000-000000000001",
  "00000000-0000-4000-8000-000000000002",
];

/** Opens a platform with a project, in memory. On Redis: createRedisStore({ server }) of grandstand/redis. */
export async function openPlatform(options) {
  const store = createMemoryStore();
  await seedPlatform(store, {
    organisations: [{ id: organisationId, name: "Club" }],
    spaces: [{ id: spaceId, organisationId, name: "Fans" }],
    projects: [{ id: "00000000-0000-4000-8000-000000000003", organisationId, spaceId, name: "League" }],
    events: [],
  });
  const secret = new MasterSecret("a long text that only this deployment knows");
  return await createPlatform({ store, secret, defaultSpaceId: spaceId, ...options });
}
