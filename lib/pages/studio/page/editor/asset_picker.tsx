/** Chooses a file of the space for a field, or uploads one. A picture needs a text for those who do not see it. */

import { useEffect, useId, useState } from "preact/hooks";
import { type Resource, textOf } from "../api.ts";
import { Grid, isImage, type Listed, readAssets, UploadPlace, uploadOne } from "../assets.tsx";
import { messageOf } from "../problem.ts";
import { Act, Dialog } from "../ui.tsx";
import { refusalOf, type ViewContext } from "../view.ts";

interface PickerProps {
  readonly context: ViewContext;
  readonly onPick: (url: string) => void;
  readonly onClose: () => void;
}

export function AssetPicker({ context, onPick, onClose }: PickerProps) {
  const { api, chain, role } = context;
  const spaceId = chain.find(({ type }) => type === "spaces")?.id ?? "";
  const [listed, setListed] = useState<Listed | null>(null);
  const [note, setNote] = useState("");
  const [bare, setBare] = useState<Resource | null>(null);
  async function load(from: Listed | null = null): Promise<void> {
    const query = { spaceId, filter: { mime: "", tag: "" }, cursor: from?.next ?? null };
    const found = await readAssets(api, query);
    setListed({ ...found, assets: [...(from?.assets ?? []), ...found.assets] });
  }
  async function upload(files: readonly File[]): Promise<void> {
    const notes = await Promise.all(files.map(file => uploadOne(api, spaceId, file)));
    setNote(notes.join(" "));
    await load();
  }
  const failed = (error: unknown): void => setNote(messageOf(error));
  useEffect(() => void load().catch(failed), []);
  function pick(asset: Resource | undefined): void {
    if (asset === undefined) return;
    if (isImage(asset) && textOf(asset, "alt_text") === "") setBare(asset);
    else onPick(textOf(asset, "url"));
  }
  return (
    <Dialog title="Choose a file" class="asset-dialog" onClose={onClose}>
      <div class="stack">
        {bare === null ? (
          <>
            <UploadPlace
              refusal={refusalOf(role, "creator")}
              onFiles={files => void upload(files).catch(failed)}
            />
            {listed !== null && (
              <Grid
                listed={listed}
                isFiltered={false}
                onOpen={id => pick(listed.assets.find(each => each.id === id))}
                onMore={() => void load(listed).catch(failed)}
              />
            )}
          </>
        ) : (
          <Describe context={context} asset={bare} onDone={() => onPick(textOf(bare, "url"))} />
        )}
        <p role="status">{note}</p>
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface DescribeProps {
  readonly context: ViewContext;
  readonly asset: Resource;
  readonly onDone: () => void;
}

/** Asks what a picture shows, and keeps it with the file. */
function Describe({ context: { api, role }, asset, onDone }: DescribeProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  async function save(): Promise<void> {
    const data = { type: "assets" as const, id: asset.id, attributes: { alt_text: text.trim() } };
    await api.control.changeAsset({ assetId: asset.id, body: { data } });
    onDone();
  }
  const refusal = refusalOf(role, "creator") ?? (text.trim() === "" ? "Say what it shows first." : null);
  return (
    <>
      <img src={textOf(asset, "url")} alt="" />
      <label for={id}>What it shows, for those who do not see it</label>
      <textarea
        id={id}
        rows={2}
        maxLength={1_000}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <p role="alert">{fault}</p>
      <Act
        class="main"
        refusal={refusal}
        onPress={() => void save().catch(error => setFault(messageOf(error)))}
      >
        Use it
      </Act>
    </>
  );
}
