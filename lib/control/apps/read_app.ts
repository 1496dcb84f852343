/**
 * Reads the specification of an app from the address that an author names, and says step by step what is wrong with it.
 *
 * @module
 */

import {
  type AppSpec,
  catalogueApp,
  catalogueSpecPath,
  checkApp,
  elementsUrlOf,
  type SpecFault,
  specBytesMax,
} from "../../authoring/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { issueDetail, parseJson } from "../../http/mod.ts";
import { OutboundError, readText } from "../../outbound/outbound.ts";
import { utf8Length } from "../../text/mod.ts";
import type { ControlServices } from "../services.ts";

/** The steps of reading a file, in their order. */
export const steps = [
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

const files = ["spec.json", "elements.json"] as const;
/** Time in ms in which both files must have arrived. */
const readMsMax = 10_000;
/** Largest specification that a record holds, in bytes of JSON. */
const storedBytesMax = 1_000_000;

/** The outcome of a step. */
export interface CheckRow {
  readonly file: (typeof files)[number];
  readonly check: Step;
  readonly result: "pass" | "fail" | "skipped";
  /** What is wrong. */
  readonly detail?: string;
  /** Where it is wrong, as a JSON Pointer into the file. */
  readonly pointer?: string;
}

/** A specification with the outcomes of all steps. */
interface ReadApp {
  /** Null: a step failed. */
  readonly app: AppSpec | null;
  readonly checks: readonly CheckRow[];
}

/** Thrown by a step. */
class Failed extends Error {
  readonly check: Step;

  constructor(check: Step, detail: string) {
    super(detail);
    this.check = check;
  }
}

/** Reads `spec.json` and the `elements.json` beside it. The catalogue of the platform is not fetched. */
export async function readApp(
  services: ControlServices,
  specUrl: string,
  userAgent: string = services.userAgent,
): Promise<ReadApp> {
  const root = services.base.replace(/\/api\/v2$/, "");
  if (specUrl === root + catalogueSpecPath) {
    return { app: catalogueApp(root), checks: files.flatMap(file => rowsOf(file, [])) };
  }
  const elementsUrl = elementsUrlOf(specUrl);
  const contents = await Promise.all(
    [elementsUrl === null ? null : specUrl, elementsUrl].map(url =>
      readFile(services, url, userAgent).catch((error: unknown) => {
        if (error instanceof Failed) return error;
        throw error;
      }),
    ),
  );
  const [spec, elements] = contents;
  const failures = contents.map(content => (content instanceof Failed ? content : null));
  const checked = failures.some(failure => failure !== null) ? [] : checkApp(spec, elements, issueDetail);
  const faults = "spec" in checked ? sizeFaults(checked) : checked;
  const checks = files.flatMap((file, index) => {
    const failure = failures[index];
    return rowsOf(
      file,
      failure === undefined || failure === null
        ? faults.filter(fault => fault.file === file)
        : [{ check: failure.check, detail: failure.message }],
      failures.every(each => each === null),
    );
  });
  return { app: "spec" in checked && faults.length === 0 ? checked : null, checks };
}

/** @throws {Failed} */
async function readFile(
  { outbound }: ControlServices,
  url: string | null,
  userAgent: string,
): Promise<unknown> {
  if (url === null) throw new Failed("url", "Expected an address that names spec.json");
  if (outbound === null)
    throw new Failed("url", "Expected the address of the catalogue: this deployment reads no other ones");
  try {
    const answer = await outbound.get({ url, accept: "application/json", userAgent, msMax: readMsMax });
    const isJson = /^(application|text)\/([a-z0-9.+-]+\+)?json$/.test(answer.mediaType ?? "");
    if (answer.status !== 200 || !isJson) await answer.body.cancel().catch(() => {});
    if (answer.status !== 200)
      throw new Failed("status", `Expected the status 200, received ${answer.status}`);
    if (!isJson) throw new Failed("type", "Expected the media type application/json");
    return parseJson(await readText(answer, specBytesMax));
  } catch (error) {
    if (error instanceof AppError)
      throw new Failed("json", error.message.replace(/^.*body: /, "Expected JSON: "));
    if (!(error instanceof OutboundError)) throw error;
    const { fault, message } = error;
    const check = fault === "time" ? "connection" : fault === "text" ? "json" : fault;
    throw new Failed(check, `Cannot be read: ${message}`);
  }
}

function sizeFaults(app: AppSpec): readonly SpecFault[] {
  if ((utf8Length(JSON.stringify(app)) ?? Infinity) <= storedBytesMax) return [];
  const detail = `Expected at most ${storedBytesMax} bytes in both files together`;
  return [{ file: "elements.json", pointer: "", detail }];
}

/** Rows of a file: what comes before a failed step has passed, what comes after it is skipped. */
function rowsOf(
  file: CheckRow["file"],
  failures: readonly { readonly check?: Step; readonly detail: string; readonly pointer?: string }[],
  isChecked = true,
): readonly CheckRow[] {
  const failed = failures[0]?.check ?? "schema";
  const end = steps.indexOf(failed);
  return steps.flatMap((check, index): readonly CheckRow[] => {
    if (failures.length > 0 && index === end) {
      return failures.map(({ detail, pointer }) => ({
        ...{ file, check, result: "fail", detail },
        ...(pointer === undefined ? {} : { pointer }),
      }));
    }
    const isSkipped = (failures.length > 0 && index > end) || (check === "schema" && !isChecked);
    return [{ file, check, result: isSkipped ? "skipped" : "pass" }];
  });
}
