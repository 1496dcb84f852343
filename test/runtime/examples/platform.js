import { createPlatform, MasterSecret, seedPlatform } from "grandstand";
import { createMemoryStore } from "grandstand/memory";

export const organisationId = "00000000-0000-4000-8000-000000000001";
export const projectId = "00000000-0000-4000-8000-000000000003";
const spaceId = "00000000-0000-4000-8000-000000000002";

/** Opens a platform with a project whose fans cheer for points, by default in memory. */
export async function openPlatform({ store = createMemoryStore(), ...options }) {
  const settings = { leaderboards: [{ id: "overall", source: { type: "metric", metricId: "points" } }] };
  await seedPlatform(store, {
    organisations: [{ id: organisationId, name: "Club" }],
    spaces: [{ id: spaceId, organisationId, name: "Fans" }],
    projects: [{ id: projectId, organisationId, spaceId, name: "League", settings }],
    events: [],
    loyalty: {
      [spaceId]: {
        metrics: [{ id: "points", title: "Points" }],
        actions: [{ name: "cheer", clientReportable: true }],
        rules: [
          {
            id: "cheered",
            trigger: { action: "cheer" },
            effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
          },
        ],
      },
    },
  });
  const secret = new MasterSecret("a long text that only this deployment knows");
  return await createPlatform({ store, secret, defaultSpaceId: spaceId, ...options });
}
