/** Finds ports for servers that have to be given one: a server that is stopped and comes back needs the same port. */
import { createServer } from "node:net";

/** Below the usual ephemeral range (32768 and up), so that no outgoing connection takes a port first. */
const portRange = { min: 11_000, max: 21_000 } as const;
/** A node of a Redis Cluster also listens on its port plus this. */
const busOffset = 10_000;

/** Returns a port that is free on 127.0.0.1, as is the one that a node of a Redis Cluster adds to it. */
export async function freePort(): Promise<number> {
  const span = portRange.max - portRange.min;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = portRange.min + Math.floor(Math.random() * span);
    if ((await isFree(port)) && (await isFree(port + busOffset))) return port;
  }
  throw new Error("Cannot find a free port on 127.0.0.1");
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
