/**
 * The cost of one verification of a token: cached, new, by jose alone, and by the runtime's own crypto alone.
 *
 *     npm run bench -- tokens
 *
 * Processor time is measured, since that hardly depends on what else the machine does. All variants run in one process
 * in turns, each round in the reverse order of the last; the table has medians and all rounds. The remembered variants
 * go through 10,000 live tokens and make the header text anew for every call, as a server does, so that no string
 * carries its hash from the call before.
 *
 * @module
 */

import { createPublicKey, type KeyObject, verify as verifyBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { jwtVerify } from "jose";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { generateMasterSecret, systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret, type SignatureAlgorithm } from "../../lib/auth/mod.ts";
import { signatureAlgorithms } from "../../lib/auth/tokens/jose.ts";
import { createKeyRing } from "../../lib/auth/tokens/key_ring.ts";
import type { Claims, TokensOptions } from "../../lib/auth/tokens/mod.ts";
import { bearerToken, createTokens } from "../../lib/auth/tokens/mod.ts";
import { figure } from "./figure.ts";

const rounds = 7;
const liveTokens = 10_000;
const expected = { typ: "at+jwt", issuer: "https://id.example", audience: "https://api.example" };

interface Variant {
  readonly name: string;
  /** Calls per round. */
  readonly calls: number;
  readonly run: (calls: number) => Promise<void> | void;
}

async function createOptions(algorithm: SignatureAlgorithm): Promise<TokensOptions> {
  const environment = { clock: systemClock, random: systemRandom };
  const store = createMemoryStore();
  const secret = new MasterSecret(generateMasterSecret(systemRandom));
  return { ...environment, ring: await createKeyRing({ ...environment, store, secret, algorithm }) };
}

async function createVariants(algorithm: SignatureAlgorithm): Promise<readonly Variant[]> {
  const options = await createOptions(algorithm);
  const tokens = createTokens(options);
  const claims = {
    orgId: "0f8fad5b-d9cb-469f-a165-70867728950e",
    scope: ["audience:read", "audience:write"],
  };
  const texts: string[] = [];
  for (let index = 0; index < liveTokens; index++) {
    texts.push(await tokens.sign({ ...expected, subject: `user-${index}`, ttlSeconds: 3_600, claims }));
  }
  const headers = texts.map(text => Buffer.from(`Bearer ${text}`, "latin1"));
  const pair = await options.ring.signer();
  const keyObject = createPublicKey({ key: pair.publicJwk, format: "jwk" });
  let next = 0;
  function textAt(): string {
    next = (next + 1) % liveTokens;
    return headers[next]?.toString("latin1") ?? "";
  }
  function remembered(name: string, verify: (header: string) => Claims | Promise<Claims>): Variant {
    return {
      name,
      calls: 200_000,
      async run(calls) {
        // A token lives in the cache for a minute at most, so each round starts with all of them known.
        for (const text of texts) await tokens.verify(text, expected);
        const started = process.cpuUsage();
        for (let call = 0; call < calls; call++) {
          const claims = verify(textAt());
          if (claims instanceof Promise) throw new Error("A remembered token was verified anew");
          consume(claims.exp);
        }
        inner = cpuUs(started);
      },
    };
  }
  return [
    {
      name: "header text alone (baseline)",
      calls: 200_000,
      run(calls) {
        for (let call = 0; call < calls; call++) consume(textAt().charCodeAt(9));
      },
    },
    remembered("remembered: verify", header => tokens.verify(header.slice("Bearer ".length), expected)),
    remembered("remembered: bearerToken + verify", header => tokens.verify(bearerToken(header), expected)),
    {
      name: "new: verify",
      calls: 2_000,
      async run(calls) {
        const fresh = createTokens(options);
        for (let call = 0; call < calls; call++)
          consume((await fresh.verify(texts[call] ?? "", expected)).exp);
      },
    },
    {
      name: "jose jwtVerify",
      calls: 2_000,
      async run(calls) {
        const { typ, issuer, audience } = expected;
        const checks = { algorithms: [algorithm], typ, issuer, audience };
        for (let call = 0; call < calls; call++) {
          consume((await jwtVerify(texts[call] ?? "", pair.publicKey, checks)).payload.exp ?? 0);
        }
      },
    },
    {
      name: "node:crypto verify (signature alone)",
      calls: 2_000,
      run(calls) {
        for (let call = 0; call < calls; call++)
          consume(Number(verifyRaw(texts[call] ?? "", keyObject, algorithm)));
      },
    },
  ];
}

function verifyRaw(text: string, key: KeyObject, algorithm: SignatureAlgorithm): boolean {
  const dot = text.lastIndexOf(".");
  const signature = Buffer.from(text.slice(dot + 1), "base64url");
  const input = Buffer.from(text.slice(0, dot));
  const isValid =
    algorithm === "EdDSA"
      ? verifyBytes(null, input, key, signature)
      : verifyBytes("sha256", input, { key, dsaEncoding: "ieee-p1363" }, signature);
  if (!isValid) throw new Error("A good signature was refused");
  return isValid;
}

let sink = 0;
/** Processor time in microseconds of the measured part of a round where it has a part that is not measured. */
let inner: number | undefined;

/** Keeps a result in use, so that the work for it cannot be left out. */
function consume(value: number): void {
  sink ^= value;
}

/** Processor time in microseconds that all threads of this process spent since then. */
function cpuUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

async function measure(variants: readonly Variant[]): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(variants.map(variant => [variant.name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const { name, calls, run } of round % 2 === 0 ? variants : variants.toReversed()) {
      inner = undefined;
      const started = process.cpuUsage();
      await run(calls);
      const elapsed = inner ?? cpuUs(started);
      // The first round warms up.
      if (round >= 0) times.get(name)?.push(elapsed / calls);
    }
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? Number.NaN;
}

console.log(
  `${process.version}, ${availableParallelism()} cores, ${rounds} rounds, microseconds of processor time per call\n`,
);
console.log("| algorithm | variant | median | rounds |\n|---|---|---|---|");
for (const algorithm of signatureAlgorithms) {
  for (const [name, values] of await measure(await createVariants(algorithm))) {
    const all = values.map(value => value.toFixed(2)).join(" ");
    console.log(`| ${algorithm} | ${name} | ${median(values).toFixed(2)} | ${all} |`);
    if (algorithm === "EdDSA") figure(`tokens, ${algorithm}: ${name}`, `${median(values).toFixed(2)} µs`);
  }
}
console.log(`\n(checksum ${sink})`);
