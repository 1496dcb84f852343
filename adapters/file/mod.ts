/**
 * Native adapters on the files of this machine.
 *
 * @module
 */
export { createFileBlobs, fileChunkBytesMax } from "./blobs.ts";
export * from "./journal/mod.ts";
