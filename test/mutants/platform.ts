/** Mistakes in what everything stands on: HTTP, credentials and storage. */

import type { Mutant } from "../support/mutation.ts";

const mutations = ["test/http/mutation_rules", "test/http/once", "test/http/idempotency"];
const audience = ["test/http/audience", "test/lib/fans/audience"];

/** The mistakes. */
export const platform: readonly Mutant[] = [
  {
    name: "an idempotency key is every caller's",
    file: "lib/http/idempotency/idempotency.ts",
    text: "JSON.stringify([subject.caller, method, host.toLowerCase(), path, name])",
    replacement: "JSON.stringify([method, host.toLowerCase(), path, name])",
    tests: mutations,
  },
  {
    name: "a snapshot counts before what is under way has settled",
    file: "adapters/file/journal/file_journal.ts",
    text: "        await this.#appender.drained();\n        if (!sound())",
    replacement: "        if (!sound())",
    tests: ["test/adapters/file"],
  },
  {
    name: "a snapshot counts although commits were lost",
    file: "adapters/file/journal/file_journal.ts",
    text: "if (!sound()) return await snapshot.discard();",
    replacement: "if (this.#stopped) return await snapshot.discard();",
    tests: ["test/adapters/file"],
  },
  {
    name: "a failed sync is forgotten",
    file: "adapters/file/journal/appender.ts",
    text: "this.#failure ??= new AppError(",
    replacement: "return new AppError(",
    tests: ["test/adapters/file"],
  },
  {
    name: "an old secret of a key works for ever",
    file: "lib/auth/api_keys/record.ts",
    text: "(isPrevious && isLiveSecret(previous, now))",
    replacement: "isPrevious",
    tests: ["test/lib/auth/api_key", "test/http/api_keys"],
  },
  {
    name: "a cursor of one user continues the list of another",
    file: "lib/auth/cursors.ts",
    text: "return [organisationId, spaceId, userId, resource,",
    replacement: "return [organisationId, spaceId, resource,",
    tests: ["test/lib/auth/cursors", ...audience],
  },
  {
    name: "bodies are read before the caller is known",
    file: "lib/http/dispatch/dispatcher.ts",
    text: "  const authorised = authorise(endpoint, exchange, services);",
    replacement:
      "  if (endpoint.body !== null) await request.clone().text();\n  const authorised = authorise(endpoint, exchange, services);",
    tests: ["test/lib/http", "test/http/body_bounds", "test/http/answer_headers"],
  },
  {
    name: "a number beyond doubles is accepted",
    file: "lib/http/requests/body.ts",
    text: "} else if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {",
    replacement: "} else if (value === Number.NEGATIVE_INFINITY) {",
    tests: ["test/lib/http"],
  },
  {
    name: "credentials that ended while a body arrived still count",
    file: "lib/http/dispatch/dispatcher.ts",
    text: "if (services.clock() - checkedAt > checkAgeMsMax)",
    replacement: "if (services.clock() - checkedAt > checkAgeMsMax * 1e6)",
    tests: ["test/lib/http"],
  },
  {
    name: "an upload goes on after its token was revoked",
    file: "lib/http/dispatch/dispatcher.ts",
    text: "if (!isEnd && clock() - checkedAt <= checkAgeMsMax) return;",
    replacement: "if (!isEnd || clock() - checkedAt <= checkAgeMsMax) return;",
    tests: ["test/lib/http", "test/http/assets", "test/http/control_tokens"],
  },
  {
    name: "a body may have any number of values",
    file: "lib/http/requests/body.ts",
    text: "if (values > jsonValuesMax)",
    replacement: "if (values > jsonValuesMax * 100)",
    tests: ["test/lib/http", "test/http/body_bounds"],
  },
  {
    name: "a proxy that nobody trusts names the client",
    file: "lib/auth/client_address.ts",
    text: "if (peer === undefined || !isProxy) return text;",
    replacement: "if (peer === undefined) return text;",
    tests: ["test/lib/auth"],
  },
  {
    name: "two fields that differ name the client",
    file: "lib/auth/client_address.ts",
    text: "if (client === other) return client;",
    replacement: 'if (client !== "") return client;',
    tests: ["test/lib/auth"],
  },
  {
    name: "a process works on a store of a newer format",
    file: "lib/auth/tokens/jwks_routes.ts",
    text: "if (format === null || Number(format.value) <= storeFormat) return;",
    replacement: "if (format === null || Number(format.value) > 0) return;",
    tests: ["test/http/store_format", "test/lib/auth"],
  },
  {
    name: "READONLY counts at the beginning of an error alone",
    file: "adapters/redis/connection.ts",
    text: "(?:^|[\\\\s:-])",
    replacement: "^",
    tests: ["test/adapters/redis"],
  },
  {
    name: "a database that cannot be selected is another one",
    file: "adapters/redis/connection.ts",
    text: '      client.disconnect(true);\n    });\n    client.on("node error"',
    replacement: '    });\n    client.on("node error"',
    tests: ["test/adapters/redis/client"],
  },
  {
    name: "a limiter whose clock was ahead refuses for long",
    file: "adapters/memory/limiter.ts",
    text: "if ((ahead * windowMs) / windowBuckets > useAheadMsMax) this.#moveBack(ahead);",
    replacement: "",
    tests: ["test/adapters/memory", "test/lib/storage"],
  },
  {
    name: "fields of CORS need an origin",
    file: "lib/http/replies/replies.ts",
    text: 'if (origin === null && method !== "GET" && method !== "HEAD") return null;',
    replacement: "if (origin === null) return null;",
    tests: ["test/lib/http", "test/http/answer_headers"],
  },
  {
    name: "a live board may be compressed",
    file: "lib/http/replies/replies.ts",
    text: '"no-store, no-transform"',
    replacement: '"no-store"',
    tests: ["test/http/live_boards", "test/http/answer_headers", "test/lib/http"],
  },
  {
    name: "an EventSource gets a status that ends it",
    file: "lib/http/dispatch/dispatcher.ts",
    text: "return isFinal ? emptyEventStream",
    replacement: "return isFinal && reply.status === 200 ? emptyEventStream",
    tests: ["test/http/live_boards", "test/lib/http"],
  },
  {
    name: "numbers beyond 2^53 are rounded",
    file: "lib/http/requests/validate.ts",
    text: "v.maxValue(Number.MAX_SAFE_INTEGER, propertyNumberExpectation)",
    replacement: "v.finite()",
    tests: ["test/http/actions", "test/lib/http", "test/http/bad_input"],
  },
  {
    name: "data of an action may have any size",
    file: "lib/http/requests/validate.ts",
    text: "text.length * bytesPerUnitMax <= propertiesBytesMax || (utf8Length(text) ?? 0) <= propertiesBytesMax",
    replacement: "text.length > 0",
    tests: ["test/http/kept_bytes", "test/lib/http", "test/http/audience"],
  },
  {
    name: "an e-mail address keeps the spelling of its domain",
    file: "lib/base/text/mod.ts",
    text: "/[\\u0080-\\uffff]/.test(domain) ? asciiDomain(domain) : domain",
    replacement: "domain",
    tests: ["test/lib/fans/identity/codes", "test/http/one_address"],
  },
  {
    name: "an expired token of a remote issuer with a fraction is refused",
    file: "lib/auth/remote_issuers/mod.ts",
    text: "if (exp === undefined || exp < 0 || exp > lastSecond)",
    replacement: "if (exp === undefined || exp < 0 || !Number.isInteger(exp) || exp > lastSecond)",
    tests: ["test/lib/auth", "test/http/openid_provider"],
  },
];
