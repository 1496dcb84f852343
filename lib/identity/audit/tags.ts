import { keyedTag } from "../../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret, networkTag } from "../../auth/mod.ts";
import type { ClientInfo } from "../../http/mod.ts";

/** How much of a client's address a trail keeps. */
export const auditNetworkBits = { ipv4: 24, ipv6: 64 } as const;
/** Length of a user agent's tag, in characters: 72 bits. */
export const userAgentTagCharacters = 12;

/** What a trail keeps of a client. */
export interface ClientTags {
  readonly addressTag?: string;
  readonly userAgentTag?: string;
}

/** Finds the tags of the client of a request. */
export type ClientTagger = (request: Request, info: ClientInfo) => ClientTags;

/** Creates the tagger of a deployment: equal user agents have equal tags in all of its projects. */
export function createClientTagger(secret: MasterSecret): ClientTagger {
  const key = deriveKey(secret, "user_agent_tag");
  return (request, { address }) => {
    const addressTag = address === undefined ? undefined : networkTag(address, auditNetworkBits);
    const userAgent = request.headers.get("user-agent");
    return {
      ...(addressTag === undefined ? {} : { addressTag }),
      ...(userAgent === null
        ? {}
        : { userAgentTag: keyedTag(key, [userAgent]).slice(0, userAgentTagCharacters) }),
    };
  };
}
