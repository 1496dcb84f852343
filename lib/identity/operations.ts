/**
 * Operations of the identity API: one path serves many providers, told apart by `strategy` and `provider`.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../auth/crypto/mod.ts";
import type { Directory, Project, Settings } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { type Call, type Reply, type Subject, validate } from "../http/mod.ts";
import type { AuditFacts } from "./audit/audit.ts";
import { type AuditedContext, audited } from "./audit/audited.ts";

/** What one provider does for one operation. */
export interface Operation<S extends v.GenericSchema = v.GenericSchema> {
  /** Checks the body or query; of the {@linkcode Selector}, which was checked before, only what `run` is to be given. */
  readonly schema: S;
  /** Whether it only looks something up: then the trail tells its failures alone. @default false */
  readonly isLookup?: boolean;
  readonly run: (input: v.InferOutput<S>, call: OperationCall) => Promise<Reply>;
}

/** What an operation knows of its call besides the input. */
export interface OperationCall extends CallFacts {
  readonly project: Project;
  /** Tells the audit trail for whom the operation works, as soon as that is known, also where it then fails. */
  readonly note: (facts: AuditFacts) => void;
}

/** What a route knows of its call. */
export type CallFacts = Pick<Call<unknown, unknown, unknown, unknown>, "request" | "info" | "requestId">;

/** The providers of one operation, by `strategy/provider`. */
export type Operations = Readonly<Record<string, Operation>>;

/** Checks an operation's types against each other and forgets them. */
export function operation<S extends v.GenericSchema>(definition: Operation<S>): Operation {
  return definition as unknown as Operation;
}

/** A UUID in any case, made lower-case. */
export const UuidSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);

const selectorEntries = { projectId: UuidSchema, strategy: v.string(), provider: v.string() };

/** What every identity request carries; the rest is checked by the operation that it names. */
export const SelectorSchema: v.GenericSchema<unknown, Selector> = v.looseObject(selectorEntries);

/** What a check carries besides: the device that asks. */
export const DeviceSelectorSchema: v.GenericSchema<unknown, Selector> = v.looseObject({
  ...selectorEntries,
  deviceId: UuidSchema,
});

/** The fields that select an operation and the project that it works on. */
export interface Selector {
  readonly projectId: string;
  readonly strategy: string;
  readonly provider: string;
}

/** The section of a project's settings that this area reads. */
const SettingsSchema = v.object({ providers: v.exactOptional(v.array(v.string())) });

/** What running an operation needs. */
export interface OperationContext extends AuditedContext {
  readonly directory: Directory;
}

/** Where the input of an operation comes from. */
export interface InputSource {
  readonly context: OperationContext;
  /** What the audit trail calls the operation. */
  readonly event: string;
  readonly subject: Subject;
  readonly call: CallFacts;
}

/**
 * Runs the operation that a well-formed request selects, and records what came of it.
 *
 * @throws {AppError} `validation_failed` for an unknown project or input that the provider does not accept;
 * `unsupported_provider` where the pair does not exist here or the project has not enabled it.
 */
export async function runOperation(
  operations: Operations,
  input: Selector,
  from: InputSource,
): Promise<Reply> {
  const { context, subject, call } = from;
  const project = await context.directory.project(input.projectId);
  if (project === null) {
    throw new AppError("validation_failed", "Cannot serve the request as it names no known project", {
      fields: [
        { pointer: subject === "body" ? "/projectId" : "projectId", detail: "Expected the id of a project" },
      ],
    });
  }
  const name = `${input.strategy}/${input.provider}`;
  const found = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (found === undefined || !isEnabled(project, input.provider)) {
    throw new AppError(
      "unsupported_provider",
      "Cannot serve the request as the project does not offer this strategy and provider for it",
    );
  }
  // What is malformed is no attempt at anything, and must leave no trace.
  const valid = validate(found.schema, input, subject);
  const attempt = {
    projectId: input.projectId,
    event: from.event,
    provider: input.provider,
    call,
    isLookup: found.isLookup ?? false,
    // Of users without credentials the record itself tells sign-up and logins, and there are a great many of them.
    isOfProjectAlone: input.strategy === "simplified",
  };
  return await audited(context, attempt, note => found.run(valid, { ...pick(call), project, note }));
}

function pick({ request, info, requestId }: CallFacts): CallFacts {
  return { request, info, requestId };
}

/** What a project's settings say of providers, parsed once: the directory keeps the object while it is unchanged. */
const enabled = new WeakMap<Settings, readonly string[] | "all">();

function isEnabled({ settings }: Project, provider: string): boolean {
  const known = enabled.get(settings) ?? parseEnabled(settings);
  enabled.set(settings, known);
  return known === "all" || known.includes(provider);
}

function parseEnabled({ identity = {} }: Settings): readonly string[] | "all" {
  const section = v.safeParse(SettingsSchema, identity);
  return section.success ? (section.output.providers ?? "all") : [];
}
