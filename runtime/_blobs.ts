import { join } from "node:path";
import type { Blobs } from "../lib/storage/mod.ts";
import type { Config } from "./config.ts";

/** The folder of blobs within the folder of data. */
export const blobsFolder = "blobs";

/**
 * Opens the place of exported files: the one that the settings name, else beside the state. Each adapter is loaded only
 * where it is used.
 */
export async function openBlobs({ blobs, redis, data }: Config): Promise<Blobs> {
  if (blobs?.includes("://")) {
    const { createS3Blobs, parseS3Url } = await import("../adapters/s3/mod.ts");
    return createS3Blobs(parseS3Url(blobs));
  }
  if (blobs !== undefined) {
    const { createFileBlobs } = await import("../adapters/file/mod.ts");
    return createFileBlobs(blobs);
  }
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
