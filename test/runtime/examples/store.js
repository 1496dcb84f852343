/** Opens the store that a URL names; without one, one in memory. */
export async function openStore(server = "") {
  if (server.startsWith("postgres")) {
    const { createPostgresStore } = await import("grandstand/postgres");
    return createPostgresStore({ server });
  }
  if (server.startsWith("redis")) {
    const { createRedisStore } = await import("grandstand/redis");
    return createRedisStore({ server });
  }
  const { createMemoryStore } = await import("grandstand/memory");
  return createMemoryStore();
}
