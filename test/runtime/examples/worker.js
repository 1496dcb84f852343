import { DurableObject } from "cloudflare:workers";
import { openPlatform } from "./platform.js";

const clientAddress = ({ headers }) => headers.get("cf-connecting-ip") ?? undefined;

/** A process of the platform: its requests share memory, connections and timers, as those of a Worker do not. */
export class Club extends DurableObject {
  async fetch(request) {
    this.platform ??= openPlatform({ clientAddress }).catch(error => {
      this.platform = undefined;
      throw error;
    });
    return (await this.platform).fetch(request);
  }
}

export default {
  fetch: (request, { CLUB }) => CLUB.getByName("1").fetch(request),
};
