/** Reads the specification of an app from the address that an author names, and says step by step what is wrong with it. */

import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { OutboundError, readText } from "../../../base/outbound/outbound.ts";
import { utf8Length } from "../../../base/text/mod.ts";
import { parseJson } from "../../../http/requests/body.ts";
import {
  type AppSpec,
  catalogueApp,
  catalogueSpecPath,
  checkElements,
  checkSpec,
  elementsUrlOf,
  specBytesMax,
} from "../../table/mod.ts";
import type { ControlServices } from "../services.ts";

/** The steps of reading a file, in their order. */
const steps = [
  "url",
  "address",
  "tls",
  "connection",
  "redirects",
  "status",
  "type",
  "bytes",
  "json",
  "schema",
] as const;
type Step = (typeof steps)[number];

/** Time in ms in which both files must have arrived. */
const readMsMax = 10_000;
/** Largest specification that a record holds, in bytes of JSON. */
const storedBytesMax = 1_000_000;

export interface CheckRow extends Partial<FieldError> {
  readonly file: "spec.json" | "elements.json";
  readonly check: Step;
  readonly result: "pass" | "fail" | "skipped";
}

interface ReadApp {
  /** Null: a step failed. */
  readonly app: AppSpec | null;
  readonly checks: readonly CheckRow[];
}

class Failure extends Error {
  readonly check: Step;
  readonly faults: readonly (Partial<FieldError> & Pick<FieldError, "detail">)[];

  constructor(check: Step, detail: string, faults: readonly FieldError[] = []) {
    super(detail);
    this.check = check;
    this.faults = faults.length === 0 ? [{ detail }] : faults;
  }
}

/** Reads `spec.json` and the `elements.json` beside it. The catalogue of the platform is not fetched. */
export async function readApp(
  services: Pick<ControlServices, "publicUrl" | "outbound" | "userAgent">,
  specUrl: string,
  userAgent: string = services.userAgent,
): Promise<ReadApp> {
  const { publicUrl: root } = services;
  const elementsUrl = elementsUrlOf(specUrl);
  const read = <T>(url: string | null, check: Check<T>): Promise<T | Failure> =>
    readFile(services, { url, userAgent, check }).catch((error: unknown) => {
      if (error instanceof Failure) return error;
      throw error;
    });
  const app = localForm(specUrl) === localForm(root + catalogueSpecPath) ? catalogueApp(root) : null;
  const [spec, elements] =
    app === null
      ? await Promise.all([
          read(elementsUrl === null ? null : specUrl, checkSpec),
          read(elementsUrl, checkElements),
        ])
      : [app.spec, app.elements];
  const checks = [...rowsOf("spec.json", spec), ...rowsOf("elements.json", elements)];
  return spec instanceof Failure || elements instanceof Failure
    ? { app: null, checks }
    : sized({ spec, elements }, checks);
}

/** Writes the names of this machine alike, under which its platform is called without a public URL. */
function localForm(url: string): string {
  return url.replace(/^http:\/\/(localhost|\[::1\])(?=[:/])/, "http://127.0.0.1");
}

type Check<T> = (json: unknown) => { readonly value: T } | { readonly faults: readonly FieldError[] };

/** @throws {Failure} */
async function readFile<T>(
  { outbound }: Pick<ControlServices, "outbound">,
  {
    url,
    userAgent,
    check,
  }: { readonly url: string | null; readonly userAgent: string; readonly check: Check<T> },
): Promise<T> {
  if (url === null) throw new Failure("url", "Expected an address that names spec.json");
  if (outbound === null)
    throw new Failure("url", "Expected the address of the catalogue: this deployment reads no other ones");
  try {
    const answer = await outbound.get({ url, accept: "application/json", userAgent, msMax: readMsMax });
    const isJson = /^(application|text)\/([a-z0-9.+-]+\+)?json$/.test(answer.mediaType ?? "");
    if (answer.status !== 200 || !isJson) await answer.body.cancel().catch(() => {});
    if (answer.status !== 200)
      throw new Failure("status", `Expected the status 200, received ${answer.status}`);
    if (!isJson) throw new Failure("type", "Expected the media type application/json");
    const checked = check(parseJson(await readText(answer, specBytesMax)));
    if ("value" in checked) return checked.value;
    throw new Failure("schema", "Expected another schema", checked.faults);
  } catch (error) {
    if (error instanceof AppError)
      throw new Failure("json", error.message.replace(/^.*body: /, "Expected JSON: "));
    if (!(error instanceof OutboundError)) throw error;
    const { fault, message } = error;
    const step = fault === "time" ? "connection" : fault === "text" ? "json" : fault;
    throw new Failure(step, `Cannot be read: ${message}`);
  }
}

/** Refuses a specification that no record holds. */
function sized(app: AppSpec, checks: readonly CheckRow[]): ReadApp {
  if ((utf8Length(JSON.stringify(app)) ?? Infinity) <= storedBytesMax) return { app, checks };
  const detail = `Expected at most ${storedBytesMax} bytes in both files together`;
  const last = { file: "elements.json", check: "schema", result: "fail", pointer: "", detail } as const;
  return { app: null, checks: [...checks.slice(0, -1), last] };
}

/** Rows of a file: what comes before a failed step has passed, what comes after it is skipped. */
function rowsOf(file: CheckRow["file"], read: unknown): readonly CheckRow[] {
  const failure = read instanceof Failure ? read : null;
  const end = failure === null ? steps.length : steps.indexOf(failure.check);
  return steps.flatMap((check, index): readonly CheckRow[] =>
    failure !== null && index === end
      ? failure.faults.map(fault => ({ file, check, result: "fail", ...fault }))
      : [{ file, check, result: index < end ? "pass" : "skipped" }],
  );
}
