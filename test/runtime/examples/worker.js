import { openPlatform } from "./platform.js";

const clientAddress = ({ headers }) => headers.get("cf-connecting-ip") ?? undefined;
let platform;
export default {
  async fetch(request) {
    // Workers have no random numbers before their first request.
    platform ??= openPlatform({ clientAddress }).catch(error => {
      platform = undefined;
      throw error;
    });
    return (await platform).fetch(request);
  },
};
