/** Commands about manifests: files that say what projects, events and elements there are to be. */

import { writeFiles } from "./elements/apply.ts";
import type { CliContext, CliInput, CliResult, CommandSpec, FlagSpec } from "./frame/command.ts";
import { conflict, exits, wrongUsage } from "./frame/errors.ts";
import { projectFlag, spaceFlag, yesFlag } from "./frame/flags.ts";
import { record, rows } from "./frame/output.ts";
import { yamlText } from "./frame/text.ts";
import type { Applied } from "./manifest/apply.ts";
import type { Plan } from "./manifest/plan.ts";

const largeSettingsBytes = 2_097_152;

const defaultFile = "grandstand.yaml";
const fileFlag: FlagSpec = { value: "path", description: "The manifest", otherwise: defaultFile };
const space: FlagSpec = {
  ...spaceFlag,
  description: "The space, where the manifest names none",
  required: false,
};
const variables = ["The variables that the manifest lists under env"];

const fields = {
  action: "text",
  kind: "text",
  key: "text",
  id: "text?",
  fields: "texts",
  notes: "texts",
} as const;

const planCommand: CommandSpec = {
  words: ["plan"],
  summary: "Show what apply would add and change, without changing it",
  flags: {
    file: fileFlag,
    space,
    out: { value: "path", description: "Keep the plan in a file for apply --plan; - is stdout" },
    "exit-code": { description: "Exit with 3 if there is something to do" },
  },
  variables,
  examples: ["plan --file show.yaml", "plan --out plan.json", "plan --exit-code"],
  requests: 3,
  isAlpha: true,
  output: rows(fields),
  exits: { 3: "there is something to do (with --exit-code)", 7: "two entities have one mark" },
  async run({ flags }, context) {
    const { readManifest } = await import("./manifest/read.ts");
    const { file = defaultFile } = flags;
    const plan = await madePlan(await readManifest(file, context), flags, context);
    const result = resultOf(plan);
    const exit = "exit-code" in flags && changesOf(plan).length > 0 ? exits.differs : exits.ok;
    if (flags.out === undefined) return { ...result, exit };
    const { savedPlan } = await import("./manifest/saved.ts");
    const saved = savedPlan(plan, file.replace(/[^/]*$/, ""), Math.floor(context.clock() / 1_000));
    const text = `${JSON.stringify(saved, null, 2)}\n`;
    if (flags.out === "-") return { ...result, exit, shown: text };
    await context.files.writeText(flags.out, text);
    return { ...result, exit };
  },
};

const applyCommand: CommandSpec = {
  words: ["apply"],
  summary: "Add and change what a manifest names; nothing is ever removed",
  flags: {
    file: fileFlag,
    space,
    plan: { value: "path", description: "A plan of plan --out, in place of a manifest" },
    yes: yesFlag,
    "dry-run": { description: "Let the server check everything, and change nothing" },
    "force-conflicts": { description: "Replace what others changed since the manifest was applied" },
    confirm: { description: "Allow settings of more than 2 MB" },
  },
  variables,
  changes: "Apps, projects, events and elements that the manifest names",
  examples: ["apply --file show.yaml --yes", "apply --dry-run", "apply --plan plan.json --yes"],
  requests: 4,
  isAlpha: true,
  output: rows({ ...fields, result: "text" }),
  exits: { 7: "something has changed since the plan, or can no longer change" },
  async run({ flags }, context) {
    const isDryRun = "dry-run" in flags;
    const api = await context.api();
    const plan = await planToApply(flags, context);
    const changes = changesOf(plan);
    requireApplicable(plan, flags, context);
    const { applyPlan, targetsOf } = await import("./manifest/apply.ts");
    for (const target of targetsOf(plan)) await api.requireAllowed(target);
    if (changes.length > 0 && !isDryRun) {
      if (context.settings.isInteractive)
        for (const { action, key, fields: names } of rowsOf(plan))
          if (action !== "noop") context.note(`${action} ${key} ${names.join(", ")}`);
      await context.confirm(`Apply ${countsText(plan)}`);
    }
    const applied = await applyPlan(plan, api, context, isDryRun);
    return resultOf(plan, applied, isDryRun);
  },
};

const exportCommand: CommandSpec = {
  words: ["export"],
  summary: "Write a project with its events and elements as a manifest",
  flags: {
    project: projectFlag,
    out: { value: "path", description: "The file to write; - is stdout", otherwise: defaultFile },
    force: { description: "Replace a file that differs" },
  },
  examples: ["export --project $PROJECT", "export --project $PROJECT --out -"],
  requests: 3,
  isAlpha: true,
  output: record({ path: "text", events: "whole", elements: "whole", manifest: [null, "json?"] }),
  exits: { 7: "the file exists and differs" },
  async run({ flags: { project = "", out = defaultFile, ...flags } }, context) {
    const { exportProject } = await import("./manifest/export.ts");
    const { document, settings, events, elements } = await exportProject(project, await context.api());
    const [owner] = document.projects as Record<string, unknown>[];
    const isStdout = out === "-";
    const settingsFile = out.replace(/(\.ya?ml)?$/i, ".settings.json");
    if (owner !== undefined && settings.length > 0) {
      if (isStdout) owner.settings = settings;
      else owner.settings_file = settingsFile.replace(/^.*\//, "");
    }
    const text = await yamlText(document);
    const data = { path: out, events, elements, manifest: isStdout ? document : null };
    if (isStdout) return { data, shown: text };
    const files = new Map([[out, text]]);
    if (settings.length > 0) files.set(settingsFile, `${JSON.stringify(settings, null, 2)}\n`);
    const next = `grandstand export --project ${project} --out ${out} --force`;
    await writeFiles(context, files, { isForced: "force" in flags, next });
    return { data };
  },
};

export const commands: readonly CommandSpec[] = [planCommand, applyCommand, exportCommand];

async function madePlan(
  manifest: Plan["manifest"],
  flags: CliInput["flags"],
  context: CliContext,
): Promise<Plan> {
  const chosen = manifest.space ?? flags.space;
  if (chosen === undefined)
    throw wrongUsage("No space is named: write space into the manifest, or give --space", {
      next: "grandstand config set space <id>",
    });
  const { readRemote } = await import("./manifest/remote.ts");
  const { planOf } = await import("./manifest/plan.ts");
  const remote = await readRemote(manifest, chosen, await context.api());
  return planOf(manifest, chosen, remote, Math.floor(context.clock() / 1_000));
}

async function planToApply(flags: CliInput["flags"], context: CliContext): Promise<Plan> {
  if (flags.plan === undefined) {
    const { readManifest } = await import("./manifest/read.ts");
    return await madePlan(await readManifest(flags.file ?? defaultFile, context), flags, context);
  }
  const { readSaved, requireFresh } = await import("./manifest/saved.ts");
  const { saved, manifest } = await readSaved(flags.plan, context);
  const plan = await madePlan(manifest, { ...flags, space: saved.space }, context);
  await requireFresh(saved, plan, await context.api());
  return plan;
}

/** @throws {CliError} The plan needs a decision of a person, or cannot be carried out. */
function requireApplicable({ steps }: Plan, flags: CliInput["flags"], { settings }: CliContext): void {
  const frozen = steps.filter(step => step.frozen.length > 0);
  if (frozen.length > 0)
    throw conflict("What is published, or the type of an element, can no longer change", {
      details: frozen.map(step => `${step.wanted.path}: ${step.frozen.join(", ")}`),
      hint: "Take the change back in the manifest, or give the element another key",
    });
  const conflicts = steps.filter(step => step.conflicts.length > 0);
  const isDecided = "force-conflicts" in flags || (settings.isInteractive && !settings.hasConsent);
  if (conflicts.length > 0 && !isDecided)
    throw conflict("Others have changed what the manifest would replace", {
      details: conflicts.map(step => `${step.wanted.path}: ${step.conflicts.join(", ")}`),
      hint: "Take the changes over into the manifest, or give --force-conflicts",
    });
  const large = steps.find(
    ({ attributes }) => JSON.stringify(attributes.settings ?? []).length > largeSettingsBytes,
  );
  if (large !== undefined && !("confirm" in flags))
    throw wrongUsage(`The settings of ${large.wanted.path} have more than 2 MB: give --confirm`);
}

function changesOf({ steps }: Plan): Plan["steps"] {
  return steps.filter(({ action }) => action !== "noop");
}

function countsOf({ steps, remote }: Plan) {
  const count = (wanted: string): number => steps.filter(({ action }) => action === wanted).length;
  return { add: count("add"), update: count("update"), noop: count("noop"), unmanaged: remote.unmanaged };
}

function countsText(plan: Plan): string {
  const { add, update } = countsOf(plan);
  return `${add} additions and ${update} changes`;
}

function rowsOf({ steps }: Plan) {
  return steps.map(({ action, wanted: { kind, path }, remote, fields: names, notes }) => ({
    action,
    kind,
    key: path,
    id: remote?.id ?? null,
    fields: names,
    notes,
  }));
}

function resultOf(plan: Plan, applied: Applied | null = null, isDryRun = false): CliResult {
  const data = rowsOf(plan).map(row => {
    if (applied === null) return row;
    const tried = applied.untried.has(row.key) ? "not checked" : "checked";
    const done = { add: "added", update: "updated", noop: "unchanged" }[row.action];
    return {
      ...row,
      id: applied.ids.get(row.key) ?? null,
      result: isDryRun && row.action !== "noop" ? tried : done,
    };
  });
  const { noop, unmanaged, ...counts } = countsOf(plan);
  const untried = applied?.untried.size ?? 0;
  const notes = [
    `${countsText(plan)}; ${noop} as they should be; ${unmanaged} on the server are not in the manifest`,
    ...(untried > 0 ? [`${untried} cannot be checked before others exist`] : []),
  ];
  return { data, meta: { ...counts, noop, unmanaged }, notes };
}
