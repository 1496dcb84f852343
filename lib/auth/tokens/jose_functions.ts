/** The functions of jose that the platform uses, so that a bundle leaves out the others. Loaded through loadJose. */

export {
  CompactSign,
  calculateJwkThumbprint,
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  jwtVerify,
} from "jose";
