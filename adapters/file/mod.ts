/**
 * Native adapters on the files of this machine.
 *
 * @module
 */
export { createFileBlobs, type FileBlobsOptions, fileChunkBytesMax, fileLeftoverMsMin } from "./blobs.ts";
export * from "./journal/mod.ts";
