import { type Parameters, parseQuery } from "../requests/query.ts";
import type { ClientInfo, GuardInput } from "../route.ts";
import type { Target } from "../routing/target.ts";

/** Path parameters and query as the schemas of a route return them. */
export interface ParsedParameters {
  readonly params: unknown;
  readonly query: unknown;
}

/** The state of one request until its answer. */
export interface Exchange {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly target: Target;
  /** The parameters, once they have been checked. */
  parsed: ParsedParameters | null;
  /** Header fields of every answer to the request, errors too; replaced, never changed in place. */
  extra: Readonly<Record<string, string>> | null;
}

/** The part of a request that guards read. The query is parsed when a guard first asks for it. */
export class GuardRequest implements GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Parameters;
  readonly #query: string;

  constructor(exchange: Exchange, params: Parameters) {
    this.request = exchange.request;
    this.info = exchange.info;
    this.params = params;
    this.#query = exchange.target.query;
  }

  /** @throws `validation_failed` for a malformed query. */
  get query(): Parameters {
    return parseQuery(this.#query);
  }
}
