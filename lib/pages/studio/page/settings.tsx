/** The settings of a project or event: those of the platform as a form, those of its app as JSON. */

import { useRef } from "preact/hooks";
import { isMembers } from "../../../base/json/mod.ts";
import { saveFile } from "../../shared/page/files.ts";
import type { Resource } from "./api.ts";
import { DocumentEditor, Moved, OpenFile, SavePart } from "./documents/editor.tsx";
import { type Live, useDocument } from "./documents/saved.ts";
import { PlaceForm } from "./settings_form.tsx";
import { Problem } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

interface Setting {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

type Settings = readonly Setting[];

/** Characters of a digest that are shown. */
const digestCharacters = 19;

export function SettingsView({ context }: { readonly context: ViewContext }) {
  const unsaved = useRef({ form: (): boolean => false, app: (): boolean => false });
  const guarded = (part: "form" | "app"): ViewContext => ({
    ...context,
    guard(isUnsaved) {
      unsaved.current[part] = isUnsaved;
      const { form, app } = unsaved.current;
      context.guard(() => form() || app());
    },
  });
  return (
    <div class="view">
      <h2>Settings of the {context.chain.at(-1)?.type === "events" ? "event" : "project"}</h2>
      <PlaceForm context={guarded("form")} />
      <h2>Settings of the app</h2>
      <AppSettings context={guarded("app")} />
    </div>
  );
}

/** Edited as JSON, compared with what is live, and pushed. */
function AppSettings({ context }: { readonly context: ViewContext }) {
  const { chain, role } = context;
  const scope = chain.at(-1) as Resource;
  const document = useDocument<Settings>({
    ...context,
    read: () => readSettings(context, scope),
    write: (settings, { tag }) => writeSettings(context, { scope, settings, tag }),
    pointer: "/data/attributes/settings",
  });
  const { saved, read, theirs } = document;
  if (saved.live === null) {
    if (saved.error !== null) return <Problem error={saved.error} retry={saved.load} />;
    return <p class="quiet">Loading…</p>;
  }
  const isEvent = scope.type === "events";
  const { value } = saved.live;
  const faults = saved.faults.length > 0 ? saved.faults : shapeFaults(read.value, isEvent ? value : []);
  const lacking = refusalOf(role, isEvent ? "creator" : "admin");
  const where = isEvent ? "event" : "project";
  const isFaulty = read.fault !== null || faults.length > 0;
  return (
    <div class="view">
      <div class="row spread">
        <p class="quiet">
          {value.length} {value.length === 1 ? "setting" : "settings"} live · {saved.live.note}
        </p>
        <div class="row">
          <OpenFile refusal={lacking} onText={document.setText} />
          <button type="button" onClick={() => saveFile(`settings-${scope.id}.json`, document.text)}>
            Save as file
          </button>
        </div>
      </div>
      <p>
        What the app of your fans reads. It belongs to the app: the platform checks its form, not its meaning.
      </p>
      {theirs !== null && <Moved theirs={theirs} onTakeOver={document.takeOver} onDrop={document.reset} />}
      <DocumentEditor
        label={`Settings of the ${where}`}
        document={document}
        faults={faults}
        isReadOnly={lacking !== null}
      />
      <SavePart
        document={document}
        title="What a push changes"
        button={`Push to the ${where}`}
        refusal={lacking ?? (isFaulty ? "Correct the faults first." : null)}
        done="The settings are live."
      />
    </div>
  );
}

async function readSettings({ api, signal }: ViewContext, { type, id }: Resource): Promise<Live<Settings>> {
  const isEvent = type === "events";
  const { headers, document } = isEvent
    ? await api.control.readEvent({ eventId: id, "fields[events]": "settings" }, { signal }).whole()
    : await api.control.readProject({ projectId: id, "fields[projects]": "settings" }, { signal }).whole();
  const { attributes, meta } = document.data as Resource & {
    readonly meta?: Readonly<Record<string, unknown>>;
  };
  const digest = String(meta?.settings_digest ?? "").slice(0, digestCharacters);
  const read = new Date().toLocaleTimeString();
  return {
    value: attributes.settings as Settings,
    tag: headers.get("etag") ?? "",
    note: isEvent ? `read at ${read}` : `${digest}… · read at ${read}`,
  };
}

interface Push {
  readonly scope: Resource;
  readonly settings: Settings;
  readonly tag: string;
}

function writeSettings({ api }: ViewContext, { scope: { type, id }, settings, tag }: Push): Promise<unknown> {
  const data = { type, id, attributes: { settings } };
  const options = { headers: { "if-match": tag } };
  return type === "events"
    ? api.control.changeEvent({ eventId: id, body: { data } } as never, options)
    : api.control.changeProject({ projectId: id, body: { data } } as never, options);
}

/** Lists what the server would refuse, or silently keep: an event's settings are joined by key. */
function shapeFaults(value: unknown, kept: Settings) {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ pointer: "", detail: 'Expected a list of {"key", "values"}' }];
  const shape = value.flatMap((item: unknown, index) => {
    const isSetting = isMembers(item) && typeof item.key === "string" && isMembers(item.values);
    return isSetting ? [] : [{ pointer: `/${index}`, detail: 'Expected {"key": "…", "values": {"all": …}}' }];
  });
  const gone = kept.filter(({ key }) => !value.some(item => isMembers(item) && item.key === key));
  const lost = gone.map(({ key }) => ({
    pointer: "",
    detail: `Expected the setting ${key}: an event keeps its settings, so empty the values instead`,
  }));
  return [...shape, ...lost];
}
