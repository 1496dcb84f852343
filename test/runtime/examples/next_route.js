import { openPlatform } from "./platform.js";

// Next knows no peer: the proxy in front must set this field itself.
const clientAddress = ({ headers }) => headers.get("x-real-ip") ?? undefined;

/** Opens the platform with the first request, so that a build needs no store, and once for all routes. */
async function handle(request) {
  globalThis.grandstand ??= openPlatform({ clientAddress }).catch(error => {
    globalThis.grandstand = undefined;
    throw error;
  });
  return (await globalThis.grandstand).fetch(request);
}

export const dynamic = "force-dynamic";
export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
};
