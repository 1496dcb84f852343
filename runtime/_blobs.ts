import { join } from "node:path";
import type { Blobs } from "../lib/storage/mod.ts";
import type { Config } from "./config.ts";

/** The folder of blobs within the folder of data. */
export const blobsFolder = "blobs";

/** Opens the place of exported files: beside the state. Each adapter is loaded only where it is used. */
export async function openBlobs({ redis, data }: Config): Promise<Blobs> {
  if (redis !== undefined) {
    const { createRedisBlobs } = await import("../adapters/redis/mod.ts");
    return createRedisBlobs({ server: redis });
  }
  if (data !== undefined) {
    const { createFileBlobs } = await import("../adapters/file/mod.ts");
    return createFileBlobs(join(data, blobsFolder));
  }
  const { createMemoryBlobs } = await import("../adapters/memory/mod.ts");
  return createMemoryBlobs();
}
