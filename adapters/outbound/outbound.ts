/** GET and POST of addresses that callers name. */

import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundReply,
  readText,
} from "../../lib/base/outbound/outbound.ts";
import { codeOf, sendPinned } from "./request.ts";
import { retryAfterMsOf } from "./retry_after.ts";
import { createTargets, networks, type Resolve, type Targets, withinTime } from "./targets.ts";

const redirectsMax = 3;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Options of {@linkcode createOutbound}. */
export interface OutboundOptions {
  /** Makes the signal that ends a request after so many ms. @default AbortSignal.timeout */
  readonly timeout?: (ms: number) => AbortSignal;
  /**
   * Networks that may be read although their addresses are not public, in CIDR notation. Only there addresses may be http.
   *
   * @default none
   */
  readonly networks?: readonly string[];
  /** Finds the addresses of hosts. @default as the runtime does */
  readonly resolve?: Resolve;
}

/**
 * Creates the reader of addresses. It connects only to public addresses over https, and to those of the given networks. Each of at most
 * three redirects is checked likewise.
 *
 * @throws {TypeError} A network is not in CIDR notation.
 */
export function createOutbound(options: OutboundOptions = {}): Outbound {
  const { timeout = ms => AbortSignal.timeout(ms) } = options;
  const targets = createTargets(networks(options.networks ?? []), options.resolve);
  return {
    async get({ url, accept, userAgent, msMax }) {
      const signal = timeout(msMax);
      const headers = { accept, "user-agent": userAgent, "accept-encoding": "identity" };
      let at = parsed(url);
      for (let followed = 0; ; followed++) {
        const response = await responseOf(at, { headers, targets, signal });
        const location = redirects.has(response.statusCode ?? 0) ? response.headers.location : undefined;
        if (location === undefined) return answerOf(response, at);
        response.destroy();
        if (followed === redirectsMax)
          throw new OutboundError("redirects", `there are more than ${redirectsMax} redirects`);
        at = parsed(location, at);
      }
    },
    async post({ url, headers, body, msMax, bytesMax }) {
      const signal = timeout(msMax);
      const at = parsed(url);
      const plain = { ...headers, "accept-encoding": "identity" };
      const response = await responseOf(at, { headers: plain, body, targets, signal });
      return await replyOf(response, { at, bytesMax, signal });
    },
  };
}

/** @throws {OutboundError} `url` */
function parsed(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new OutboundError("url", "it is no http or https address");
  if (url.username !== "" || url.password !== "")
    throw new OutboundError("url", "it contains a user name or password");
  return url;
}

interface Attempt {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly targets: Targets;
  readonly signal: AbortSignal;
}

async function responseOf(url: URL, { targets, ...sent }: Attempt): Promise<IncomingMessage> {
  const { signal } = sent;
  const addresses = await withinTime(targets.addressesOf(url), signal);
  try {
    return await sendPinned({ url, addresses, ...sent, isAlone: true });
  } catch (error) {
    const code = codeOf(error);
    if (signal.aborted) throw new OutboundError("time", "there was no answer in time");
    const isTls = /CERT|TLS|SSL|SIGNATURE|EPROTO/.test(code);
    throw isTls
      ? new OutboundError("tls", `its certificate cannot be verified (${code})`)
      : new OutboundError("connection", `its server cannot be reached (${code})`);
  }
}

function answerOf(response: IncomingMessage, url: URL): OutboundAnswer {
  const { "content-type": type, "content-length": length, "content-encoding": encoding } = response.headers;
  if (encoding !== undefined && encoding !== "identity") {
    response.destroy();
    throw new OutboundError("text", "the body is encoded, which was not asked for");
  }
  return {
    status: response.statusCode ?? 0,
    url: url.href,
    mediaType: type?.split(";", 1)[0]?.trim().toLowerCase() ?? null,
    bytes: length === undefined ? null : Number(length),
    body: Readable.toWeb(response) as ReadableStream<Uint8Array>,
  };
}

interface Posted {
  readonly at: URL;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

async function replyOf(response: IncomingMessage, { at, bytesMax, signal }: Posted): Promise<OutboundReply> {
  const answer = answerOf(response, at);
  const { status, mediaType } = answer;
  if (redirects.has(status)) {
    response.destroy();
    throw new OutboundError("redirects", "it redirects, which is not followed");
  }
  const text = await readText(answer, bytesMax).catch((error: unknown) => {
    throw signal.aborted ? new OutboundError("time", "the body did not arrive in time") : error;
  });
  const retryAfterMs = retryAfterMsOf(response.headers["retry-after"] ?? null, Date.now());
  return { status, mediaType, retryAfterMs, text };
}
