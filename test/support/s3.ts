/**
 * A real server of the S3 protocol for tests, on loopback, gone with the test process. It serves buckets by path and
 * by host, and checks no signatures of version 4: the tests do.
 */

import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { S3Bucket } from "../../adapters/s3/mod.ts";

interface ServerOptions {
  readonly address: string;
  readonly port: number;
  readonly silent: boolean;
  readonly directory: string;
  readonly vhostBuckets: boolean;
  readonly serviceEndpoint: string;
  readonly configureBuckets: readonly { readonly name: string }[];
}

type ServerClass = new (
  options: ServerOptions,
) => {
  readonly httpServer: Server;
  run(): Promise<{ readonly port: number }>;
};

/** The buckets of the server. */
export const bucketNames = ["grandstand", "grandstand-other"] as const;

const found = await import("s3rver" as string).then(
  (module: { readonly default: ServerClass }) => module.default,
  () => null,
);

/** False where the server can be started, else why it cannot be. */
export function s3Available(): string | false {
  if (found !== null || process.env.GRANDSTAND_REQUIRE_S3 === "1") return false;
  return "s3rver is not installed: npm ci";
}

let shared: Promise<S3Bucket> | undefined;
let running: Server | undefined;

/** The bucket that all tests of one file (one process) share; isolate by prefix. */
export function sharedS3(): Promise<S3Bucket> {
  shared ??= start();
  return shared;
}

/**
 * Stops the server. Call it at the end of a suite that used it, because the server keeps the process alive. A later suite of the
 * process gets another one.
 */
export function stopS3(): void {
  shared = undefined;
  running?.close();
  running?.closeAllConnections();
}

async function start(): Promise<S3Bucket> {
  if (found === null) throw new Error("s3rver is not installed");
  const directory = mkdtempSync(join(tmpdir(), "grandstand-s3-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const server = new found({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    vhostBuckets: true,
    serviceEndpoint: "localhost",
    configureBuckets: bucketNames.map(name => ({ name })),
  });
  const { port } = await server.run();
  running = server.httpServer;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: bucketNames[0],
    accessKeyId: "S3RVER",
    secretAccessKey: "S3RVER",
  };
}
