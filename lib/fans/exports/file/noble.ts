/** The functions of noble that write files without WebCrypto, so that a bundle leaves out the others. Loaded on first use. */

export { ghash } from "@noble/ciphers/_polyval.js";
export { ctr } from "@noble/ciphers/aes.js";
export { equalBytes } from "@noble/ciphers/utils.js";
export { pbkdf2Async } from "@noble/hashes/pbkdf2.js";
export { sha256 } from "@noble/hashes/sha2.js";
