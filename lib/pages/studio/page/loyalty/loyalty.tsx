/** The loyalty configuration of a space: edited, compared, played and tried. */

import { useEffect, useState } from "preact/hooks";
import { isMembers } from "../../../../base/json/mod.ts";
import { type FieldError, GrandstandError } from "../../../../client/mod.ts";
import { saveFile } from "../../../shared/page/files.ts";
import type { Resource } from "../api.ts";
import { DocumentEditor, Moved, OpenFile, SavePart } from "../documents/editor.tsx";
import { jsonText } from "../documents/json_text.ts";
import { type EditedDocument, type Live, useDocument } from "../documents/saved.ts";
import { hrefOf } from "../places.ts";
import { ownZone } from "../plan/zones.ts";
import { Problem } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { type PartProps, zoneOf } from "./part.ts";
import { Scenarios } from "./scenarios.tsx";
import { Trial } from "./trial.tsx";
import { Versions } from "./versions.tsx";

const parts = { edit: "Edit", versions: "Versions", test: "Test", try: "Try" } as const;

function isPart(name: string | null): name is keyof typeof parts {
  return name !== null && Object.hasOwn(parts, name);
}

export function LoyaltyView({ context }: { readonly context: ViewContext }) {
  const space = context.chain.at(-1) as Resource;
  const document = useDocument<unknown>({
    ...context,
    read: () => readConfiguration(context, space.id),
    write: (attributes, { tag }) => writeConfiguration(context, { id: space.id, attributes, tag }),
    pointer: "/data/attributes",
  });
  const faults = useFaults(document);
  const { item } = context.place;
  const [part, setPart] = useState(isPart(item) ? item : "edit");
  const { saved } = document;
  if (saved.live === null) {
    if (saved.error !== null) return <Problem error={saved.error} retry={saved.load} />;
    return <p class="quiet">Loading…</p>;
  }
  const show = (name: keyof typeof parts): void => {
    // What is typed stays, so nobody is asked.
    history.replaceState(null, "", hrefOf(space, "loyalty", name === "edit" ? undefined : name));
    setPart(name);
  };
  const Part = { edit: Edit, versions: Versions, test: Scenarios, try: Trial }[part];
  return (
    <div class="view">
      <div class="row spread">
        <nav class="parts" aria-label="Parts of loyalty">
          {Object.keys(parts)
            .filter(isPart)
            .map(name => (
              <button key={name} type="button" aria-current={name === part} onClick={() => show(name)}>
                {parts[name]}
              </button>
            ))}
        </nav>
        <p class="quiet">{saved.live.note}</p>
      </div>
      <Part context={context} document={document} live={saved.live} faults={faults} />
    </div>
  );
}

function Edit({ context, document, live, faults }: PartProps) {
  const { read, theirs } = document;
  const [space] = context.chain.slice(-1);
  const isEmpty = isMembers(read.value) && Object.keys(read.value).length === 0;
  return (
    <>
      <div class="row spread">
        <p class="quiet">
          What fans collect, what they report, and what that earns. It is checked while you type.
        </p>
        <div class="row">
          <OpenFile onText={document.setText} />
          <button type="button" onClick={() => saveFile(`loyalty-${space?.id}.json`, document.text)}>
            Save as file
          </button>
        </div>
      </div>
      {isEmpty && live.tag === "" && (
        <p class="empty">
          The space has no loyalty yet.{" "}
          <button type="button" onClick={() => document.setText(jsonText(example))}>
            Begin with points for votes
          </button>
        </p>
      )}
      {theirs !== null && <Moved theirs={theirs} onTakeOver={document.takeOver} onDrop={document.reset} />}
      <DocumentEditor label="Loyalty configuration" document={document} faults={faults} />
      <SavePart
        document={document}
        title="What saving changes"
        button="Save for fans"
        refusal={read.fault !== null || faults.length > 0 ? "Correct the faults first." : null}
        done="The configuration is in force."
      />
    </>
  );
}

/** What counts votes, so that a first show works. */
const example = {
  timeZone: ownZone,
  metrics: [{ id: "points", title: "Points" }],
  actions: [{ name: "vote", clientReportable: true, data: { elementId: "string", option: "string" } }],
  rules: [
    {
      id: "points-for-votes",
      trigger: { action: "vote" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 5 }],
    },
  ],
};

/** Pause after which a text is checked, in ms. */
const checkAfterMs = 200;

/** Returns what the engine finds wrong, or what the server found where it refused the document. */
function useFaults({ read, saved }: EditedDocument<unknown>): readonly FieldError[] {
  const [found, setFound] = useState<readonly FieldError[]>([]);
  useEffect(() => {
    if (read.fault !== null || saved.live === null) return;
    // A space without a configuration has nothing to check.
    if (saved.live.tag === "" && Object.keys(Object(read.value)).length === 0) return setFound([]);
    let isOld = false;
    const timer = setTimeout(async () => {
      const { faultsOf } = await import("./engine.ts");
      if (!isOld) setFound(faultsOf(read.value));
    }, checkAfterMs);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [read, saved.live]);
  return found.length > 0 ? found : saved.faults;
}

async function readConfiguration({ api, signal }: ViewContext, spaceId: string): Promise<Live<unknown>> {
  const answer = await api.control
    .getLoyaltyConfiguration({ spaceId }, { signal })
    .whole()
    .catch((error: unknown) => {
      if (error instanceof GrandstandError && error.code === "not_found") return null;
      throw error;
    });
  if (answer === null) return { value: {}, tag: "", note: "None in force" };
  const { attributes, meta } = answer.document.data;
  const { name, moment } = zoneOf(attributes);
  return {
    value: attributes,
    tag: answer.headers.get("etag") ?? "",
    note: `Version ${meta.version} in force since ${moment(meta.created_at)} (${name})`,
  };
}

interface Change {
  readonly id: string;
  readonly attributes: unknown;
  readonly tag: string;
}

function writeConfiguration({ api }: ViewContext, { id, attributes, tag }: Change): Promise<unknown> {
  const data = {
    type: "loyalty_configurations" as const,
    id,
    attributes: attributes as Record<string, unknown>,
  };
  const headers: Readonly<Record<string, string>> =
    tag === "" ? { "if-none-match": "*" } : { "if-match": tag };
  return api.control.putLoyaltyConfiguration({ spaceId: id, body: { data } }, { headers });
}
