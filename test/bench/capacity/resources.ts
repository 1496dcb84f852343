/** What is measured. */

/** Names of what is measured, with their units. */
export const resources = {
  serverMs: "processor of servers, ms",
  workerMs: "processor of workers, ms",
  redisMs: "processor of Redis, ms",
  redisBytes: "memory of Redis, bytes",
  redisCommands: "commands of Redis",
  redisWire: "bytes to and from Redis",
  aofBytes: "bytes of the append-only file",
  httpBytes: "bytes of HTTP",
} as const;
/** A resource. */
export type Resource = keyof typeof resources;
/** An amount of every resource. */
export type Usage = Readonly<Record<Resource, number>>;

/** Returns an amount for each resource. */
export function eachResource(amount: (resource: Resource) => number): Usage {
  return Object.fromEntries(
    (Object.keys(resources) as Resource[]).map(resource => [resource, amount(resource)]),
  ) as Record<Resource, number>;
}
