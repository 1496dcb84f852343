/** The files of a space: seen, uploaded, described, tagged and deleted. */

import { useEffect, useRef, useState } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { type Api, allOf, cursorOf, type Resource, textOf } from "./api.ts";
import { messageOf } from "./problem.ts";
import { Act, ask, Dialog, Problem } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

/** Longest time of an upload, in ms: that of the platform. */
const uploadMs = 6 * 3_600_000;
const pageCount = 60;

const kinds = { "": "All files", "image/*": "Images", "video/*": "Video", "audio/*": "Audio" } as const;

export interface Listed {
  readonly assets: readonly Resource[];
  readonly total: number;
  readonly next: string | null;
}

interface Filter {
  readonly mime: string;
  readonly tag: string;
}

export function AssetsView({ context }: { readonly context: ViewContext }) {
  const { api, signal, role, announce } = context;
  const spaceId = context.chain.find(({ type }) => type === "spaces")?.id ?? "";
  const [filter, setFilter] = useState<Filter>({ mime: "", tag: "" });
  const [listed, setListed] = useState<Listed | null>(null);
  const [tags, setTags] = useState<readonly Resource[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [open, setOpen] = useState<string | null>(null);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const refusal = refusalOf(role, "creator");
  const failed = (thrown: unknown): void => {
    if (!signal.aborted) setError(thrown);
  };
  const load = (from: Listed | null = null): void => {
    setError(null);
    readAssets(api, { spaceId, filter, cursor: from?.next ?? null }).then(
      found => setListed({ ...found, assets: [...(from?.assets ?? []), ...found.assets] }),
      failed,
    );
  };
  useEffect(() => load(), [filter]);
  useEffect(() => {
    allTags(api, spaceId, signal).then(setTags, () => {});
  }, []);
  async function upload(files: readonly File[]): Promise<void> {
    setNotes([]);
    for (const file of files) {
      announce(`Uploading ${file.name}`);
      const note = await uploadOne(api, spaceId, file);
      setNotes(before => [...before, note]);
      announce(note);
    }
    load();
  }
  if (error !== null) return <Problem error={error} retry={load} />;
  const asset = listed?.assets.find(({ id }) => id === open);
  return (
    <div class="view">
      <UploadPlace refusal={refusal} onFiles={upload} />
      {notes.length > 0 && (
        <ul class="stack">
          {notes.map(note => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Filters filter={filter} tags={tags} total={listed?.total ?? null} setFilter={setFilter} />
      {listed !== null && (
        <Grid
          listed={listed}
          isFiltered={filter.mime + filter.tag !== ""}
          onOpen={setOpen}
          onMore={() => load(listed)}
        />
      )}
      {asset !== undefined && (
        <AssetDialog
          context={context}
          asset={asset}
          tags={tags}
          refusal={refusal}
          onTags={setTags}
          onChange={() => load()}
          onClose={() => setOpen(null)}
        />
      )}
    </div>
  );
}

interface GridProps {
  readonly listed: Listed;
  readonly isFiltered: boolean;
  readonly onOpen: (id: string) => void;
  readonly onMore: () => void;
}

export function Grid({ listed: { assets, next }, isFiltered, onOpen, onMore }: GridProps) {
  if (assets.length === 0) {
    return (
      <p class="empty">
        {isFiltered ? "No file is of this kind." : "There are no files yet. Drop the first one."}
      </p>
    );
  }
  return (
    <>
      <ul class="assets">
        {assets.map(each => (
          <AssetCard key={each.id} asset={each} onOpen={() => onOpen(each.id)} />
        ))}
      </ul>
      {next !== null && (
        <button type="button" onClick={onMore}>
          Show more
        </button>
      )}
    </>
  );
}

interface Query {
  readonly spaceId: string;
  readonly filter: Filter;
  readonly cursor: string | null;
}

export async function readAssets(
  api: Api,
  { spaceId, filter: { mime, tag }, cursor }: Query,
): Promise<Listed> {
  const { document } = await api.control
    .listSpaceAssets({
      spaceId,
      sort: "-created_at",
      include: "tags",
      "page[count]": pageCount,
      ...(cursor !== null && { "page[cursor]": cursor }),
      ...(mime !== "" && { "filter[mime]": mime }),
      ...(tag !== "" && { "filter[tag]": tag }),
    })
    .whole();
  const { data, links, meta } = document as typeof document & { readonly meta?: { readonly total?: number } };
  return { assets: data as readonly Resource[], total: meta?.total ?? data.length, next: cursorOf(links) };
}

function allTags(api: Api, spaceId: string, signal: AbortSignal): Promise<readonly Resource[]> {
  return allOf(api.control.listSpaceTags({ spaceId, sort: "name", "page[count]": 100 }, { signal }));
}

export async function uploadOne(api: Api, spaceId: string, file: File): Promise<string> {
  try {
    const options = { timeoutMs: uploadMs };
    const { status } = await api.control
      .uploadAsset({ spaceId, name: file.name, body: file }, options)
      .whole();
    return status === 200 ? `${file.name} is here already.` : `${file.name} is uploaded. Say what it shows.`;
  } catch (error) {
    return `${file.name} was not uploaded. ${messageOf(error)}`;
  }
}

interface UploadPlaceProps {
  readonly refusal: string | null;
  readonly onFiles: (files: readonly File[]) => void;
}

export function UploadPlace({ refusal, onFiles }: UploadPlaceProps) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  return (
    // Dropping is an extra: the button inside does the same.
    <section
      class="drop"
      aria-label="Upload"
      data-over={isOver}
      onDragOver={event => {
        event.preventDefault();
        setOver(refusal === null);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault();
        setOver(false);
        if (refusal === null) onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <p>Drop files here, or</p>
      <Act refusal={refusal} onPress={() => input.current?.click()}>
        Choose files…
      </Act>
      {refusal !== null && <p class="quiet">{refusal}</p>}
      <input
        ref={input}
        type="file"
        multiple
        class="hidden"
        tabIndex={-1}
        aria-label="Files to upload"
        onChange={event => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </section>
  );
}

interface FiltersProps {
  readonly filter: Filter;
  readonly tags: readonly Resource[];
  readonly total: number | null;
  readonly setFilter: (filter: Filter) => void;
}

function Filters({ filter, tags, total, setFilter }: FiltersProps) {
  return (
    <div class="row spread">
      <div class="row">
        <select
          aria-label="Kind"
          value={filter.mime}
          onChange={event => setFilter({ ...filter, mime: event.currentTarget.value })}
        >
          {Object.entries(kinds).map(([mime, title]) => (
            <option key={mime} value={mime}>
              {title}
            </option>
          ))}
        </select>
        <select
          aria-label="Tag"
          value={filter.tag}
          onChange={event => setFilter({ ...filter, tag: event.currentTarget.value })}
        >
          <option value="">All tags</option>
          {tags.map(tag => (
            <option key={tag.id} value={tag.id}>
              {textOf(tag, "name")}
            </option>
          ))}
        </select>
      </div>
      <p class="quiet">
        {total === null ? "Loading…" : `${total.toLocaleString()} ${total === 1 ? "file" : "files"}`}
      </p>
    </div>
  );
}

export function isImage(asset: Resource): boolean {
  return textOf(asset, "mime").startsWith("image/");
}

function AssetCard({ asset, onOpen }: { readonly asset: Resource; readonly onOpen: () => void }) {
  const name = textOf(asset, "name");
  const isBare = isImage(asset) && textOf(asset, "alt_text") === "";
  return (
    <li>
      <button type="button" class="asset" onClick={onOpen}>
        <span class="picture">
          {isImage(asset) ? (
            <img src={textOf(asset, "url")} alt="" loading="lazy" />
          ) : (
            <span class="quiet">{textOf(asset, "mime").split("/").at(-1)}</span>
          )}
        </span>
        <strong>{name}</strong>
        <span class="quiet">
          {sizeOf(Number(asset.attributes.bytes))}
          {isBare && " · no alt text"}
        </span>
      </button>
    </li>
  );
}

const units = ["B", "KB", "MB", "GB"];

function sizeOf(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 1_024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}

interface AssetDialogProps {
  readonly context: ViewContext;
  readonly asset: Resource;
  readonly tags: readonly Resource[];
  readonly refusal: string | null;
  readonly onTags: (tags: readonly Resource[]) => void;
  readonly onChange: () => void;
  readonly onClose: () => void;
}

function AssetDialog({ context, asset, tags, refusal, onTags, onChange, onClose }: AssetDialogProps) {
  const { api } = context;
  const [text, setText] = useState({ name: textOf(asset, "name"), alt_text: textOf(asset, "alt_text") });
  const { fault, attempt } = useAttempts(onChange);
  const users = useUsers(context, asset.id, refusal);
  async function save(): Promise<void> {
    const data = { type: "assets" as const, id: asset.id, attributes: text };
    const isSaved = await attempt(
      async () => await api.control.changeAsset({ assetId: asset.id, body: { data } }),
    );
    if (isSaved) onClose();
  }
  async function remove(): Promise<void> {
    const isSure = await ask({
      title: `Delete ${textOf(asset, "name")}?`,
      text: "Its address ends at once. This cannot be undone; browsers and caches may show it for a while.",
      confirm: "Delete",
    });
    if (isSure && (await attempt(async () => await api.control.removeAsset({ assetId: asset.id }))))
      onClose();
  }
  const inUse = users.length > 0 ? "It is in use: take it out of what is listed first." : null;
  return (
    <Dialog title={textOf(asset, "name")} class="asset-dialog" onClose={onClose}>
      <form
        class="stack"
        onSubmit={event => {
          event.preventDefault();
          void save();
        }}
      >
        <Described asset={asset} text={text} setText={setText} isReadOnly={refusal !== null} />
        <Tags
          context={context}
          asset={asset}
          tags={tags}
          refusal={refusal}
          onTags={onTags}
          attempt={attempt}
        />
        <Users users={users} />
        {fault !== "" && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <div class="row end">
          <Act refusal={refusal ?? inUse} onPress={remove}>
            Delete…
          </Act>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <Act class="main" refusal={refusal} onPress={save}>
            Save
          </Act>
        </div>
      </form>
    </Dialog>
  );
}

/** Runs changes one by one, and keeps why the last one was refused. */
function useAttempts(onChange: () => void) {
  const [fault, setFault] = useState("");
  const attempt = async (run: () => Promise<unknown>): Promise<boolean> => {
    setFault("");
    const refused = await run().then(() => "", messageOf);
    setFault(refused);
    if (refused === "") onChange();
    return refused === "";
  };
  return { fault, attempt };
}

interface DescribedProps {
  readonly asset: Resource;
  readonly text: { readonly name: string; readonly alt_text: string };
  readonly setText: (text: DescribedProps["text"]) => void;
  readonly isReadOnly: boolean;
}

function Described({ asset, text, setText, isReadOnly }: DescribedProps) {
  return (
    <>
      {isImage(asset) && <img src={textOf(asset, "url")} alt={textOf(asset, "alt_text")} />}
      <p class="quiet">
        {factsOf(asset)} ·{" "}
        <a href={textOf(asset, "url")} target="_blank" rel="noopener noreferrer">
          Open the file
        </a>
      </p>
      <label for="asset-name">Name of the file</label>
      <input
        id="asset-name"
        value={text.name}
        required
        disabled={isReadOnly}
        onInput={event => setText({ ...text, name: event.currentTarget.value })}
      />
      <label for="asset-alt">What it shows, for those who do not see it</label>
      <textarea
        id="asset-alt"
        rows={2}
        maxLength={1_000}
        value={text.alt_text}
        disabled={isReadOnly}
        onInput={event => setText({ ...text, alt_text: event.currentTarget.value })}
      />
    </>
  );
}

function factsOf(asset: Resource): string {
  const { width, height, bytes } = asset.attributes;
  const size = typeof width === "number" ? [`${width} × ${height}`] : [];
  return [textOf(asset, "mime"), ...size, sizeOf(Number(bytes))].join(" · ");
}

interface TagsProps {
  readonly context: ViewContext;
  readonly asset: Resource;
  readonly tags: readonly Resource[];
  readonly refusal: string | null;
  readonly onTags: (tags: readonly Resource[]) => void;
  readonly attempt: (run: () => Promise<unknown>) => Promise<boolean>;
}

function Tags({ context: { api, chain }, asset, tags, refusal, onTags, attempt }: TagsProps) {
  const [name, setName] = useState("");
  const related = asset.relationships?.tags as
    | { readonly data?: readonly { readonly id: string }[] }
    | undefined;
  const own = new Set(related?.data?.map(({ id }) => id));
  const input = (id: string) => ({ assetId: asset.id, body: { data: [{ type: "tags" as const, id }] } });
  const toggle = (id: string, isOn: boolean): Promise<boolean> =>
    attempt(
      async () => await (isOn ? api.control.addAssetTags(input(id)) : api.control.removeAssetTags(input(id))),
    );
  async function create(): Promise<void> {
    const space = {
      data: { type: "spaces" as const, id: chain.find(({ type }) => type === "spaces")?.id ?? "" },
    };
    const data = { type: "tags" as const, attributes: { name: name.trim() }, relationships: { space } };
    await attempt(async () => {
      const tag = await api.control.createTag({ body: { data } });
      await api.control.addAssetTags(input(tag.id));
      onTags([...tags, tag as Resource]);
      setName("");
    });
  }
  return (
    <fieldset class="field">
      <legend>Tags</legend>
      <div class="row">
        {tags.map(({ id, attributes }) => (
          <label key={id} class="row">
            <input
              type="checkbox"
              checked={own.has(id)}
              disabled={refusal !== null}
              onChange={event => toggle(id, event.currentTarget.checked)}
            />
            {String(attributes.name)}
          </label>
        ))}
      </div>
      <div class="row">
        <input
          aria-label="New tag"
          placeholder="New tag"
          value={name}
          maxLength={100}
          disabled={refusal !== null}
          onInput={event => setName(event.currentTarget.value)}
        />
        <Act refusal={refusal ?? (name.trim() === "" ? "Write its name first." : null)} onPress={create}>
          Add tag
        </Act>
      </div>
    </fieldset>
  );
}

/** Asks by a trial of its deletion what shows an asset. */
function useUsers({ api, signal }: ViewContext, assetId: string, refusal: string | null): readonly string[] {
  const [users, setUsers] = useState<readonly string[]>([]);
  useEffect(() => {
    if (refusal !== null) return;
    api.control.removeAsset({ assetId, dry_run: "true" }, { signal }).then(
      () => {},
      async error => {
        const found = error instanceof GrandstandError ? error.details.users : undefined;
        if (Array.isArray(found)) setUsers(await Promise.all(found.map(user => nameOf(api, String(user)))));
      },
    );
  }, []);
  return users;
}

const nouns: Readonly<Record<string, string>> = {
  elements: "Element",
  events: "Event",
  event_templates: "Template",
};

/** Returns the name of `type/id`, or the same where it cannot be read. */
async function nameOf(api: Api, user: string): Promise<string> {
  const [type = "", id = ""] = user.split("/");
  const read = {
    elements: () => api.control.readElement({ elementId: id }),
    events: () => api.control.readEvent({ eventId: id }),
    event_templates: () => api.control.readEventTemplate({ eventTemplateId: id }),
  }[type];
  return await (read?.() ?? Promise.reject()).then(
    ({ attributes }: { readonly attributes: { readonly name?: unknown } }) =>
      `${nouns[type]} “${String(attributes.name || id)}”`,
    () => user,
  );
}

function Users({ users }: { readonly users: readonly string[] }) {
  if (users.length === 0) return null;
  return (
    <section aria-label="Where it is used">
      <p>It is in use, so that it cannot be deleted:</p>
      <ul class="stack">
        {users.map(user => (
          <li key={user}>{user}</li>
        ))}
      </ul>
    </section>
  );
}
