/** Servers of a social network on loopback: inspect tokens, return users, and fail on demand. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A token of the network. */
export interface SocialToken {
  readonly appId: string;
  readonly userId: string | number;
  readonly isValid?: boolean;
}

/** Answers a request in place of the network. */
export type Misbehaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A running network. */
export interface SocialServer {
  readonly url: string;
  readonly tokens: Map<string, SocialToken>;
  /** Profiles by user id; by default the user's id and a name. */
  readonly users: Map<string, Readonly<Record<string, unknown>>>;
  /** Every request's path with its query. */
  readonly asked: string[];
  misbehave(how: Misbehaviour | null, at?: "/debug" | "/me"): void;
  stop(): Promise<void>;
}

/** Starts a network. */
export async function startSocialServer(): Promise<SocialServer> {
  const tokens = new Map<string, SocialToken>();
  const users = new Map<string, Readonly<Record<string, unknown>>>();
  const asked: string[] = [];
  let fault: { readonly how: Misbehaviour; readonly at: string | undefined } | null = null;
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const { pathname, searchParams } = new URL(request.url ?? "", "http://social");
    if (fault !== null && (fault.at === undefined || fault.at === pathname))
      return fault.how(request, response);
    const presented =
      pathname === "/debug"
        ? searchParams.get("input_token")
        : request.headers.authorization?.slice("Bearer ".length);
    const token = tokens.get(presented ?? "");
    if (token === undefined) return void response.writeHead(401).end("{}");
    const { appId, userId, isValid = true } = token;
    const answer =
      pathname === "/debug"
        ? { data: { app_id: appId, user_id: userId, is_valid: isValid } }
        : (users.get(String(userId)) ?? { id: userId, name: "Al" });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    tokens,
    users,
    asked,
    misbehave(how, at) {
      fault = how === null ? null : { how, at };
    },
    async stop() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
