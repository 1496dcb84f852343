import { openPlatform } from "./platform.js";

// Next knows no peer: the proxy in front must set this field itself.
const clientAddress = ({ headers }) => headers.get("x-real-ip") ?? undefined;
const platform = await openPlatform({ clientAddress });
const handle = request => platform.fetch(request);

export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
};
