/** Prints what the native kernels of this runtime derive, as JSON: run by every runtime. */

import { bytesToHex } from "@noble/hashes/utils.js";
import { nativeKernels } from "../../../adapters/native/mod.ts";
import { argon2idSamples, scryptSamples } from "./_samples.ts";

const { scrypt, argon2id, concurrentMax } = nativeKernels();
const input = {
  password: new TextEncoder().encode("pässword"),
  salt: new Uint8Array(16).fill(7),
  length: 32,
};
const keys: Record<string, string> = {};
for (const cost of scryptSamples) {
  if (scrypt !== undefined) keys[JSON.stringify(cost)] = bytesToHex(await scrypt(input, cost));
}
for (const cost of argon2idSamples) {
  if (argon2id !== undefined) keys[JSON.stringify(cost)] = bytesToHex(await argon2id(input, cost));
}
console.log(JSON.stringify({ keys, concurrentMax }));
