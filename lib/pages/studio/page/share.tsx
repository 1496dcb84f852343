/** Where fans find a show, and how other pages, screens and broadcasts show it. */

import { useState } from "preact/hooks";
import { Qr } from "../../shared/page/qr.tsx";
import { hrefOf } from "./places.ts";
import { announce, Dialog } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

interface ShareProps {
  readonly context: ViewContext;
  readonly eventId: string;
  readonly onClose: () => void;
}

export function Share({ context: { api, chain }, eventId, onClose }: ShareProps) {
  const project = chain.find(({ type }) => type === "projects");
  const page = `${api.base}/show?event=${eventId}`;
  const frame = `<iframe src="${page}" title="Live show" width="100%" height="700" loading="lazy"></iframe>`;
  return (
    <Dialog title="Share the show" onClose={onClose} class="share">
      <div class="stack">
        <Qr address={page} label={`QR code of ${page}`} />
        <Copied label="Page for fans" text={page} />
        <Copied label="In a page of yours" text={frame} />
        {project !== undefined && (
          <p class="quiet">
            Browsers show it only in pages of the origins that <a href={hrefOf(project, "page")}>Page</a>{" "}
            lists.
          </p>
        )}
        <Copied label="Big screen" text={`${page}&view=screen`} />
        <Copied label="Over the picture of a broadcast" text={`${page}&view=overlay`} />
        <div class="row end">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Copied({ label, text }: { readonly label: string; readonly text: string }) {
  const [isCopied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce(`Copied: ${label}`);
  }
  return (
    <div class="copied">
      <label>
        {label}
        <input readOnly value={text} onFocus={({ currentTarget }) => currentTarget.select()} />
      </label>
      <button
        type="button"
        aria-label={`${isCopied ? "Copied" : "Copy"}: ${label}`}
        onClick={() => copy().catch(() => announce("The browser refused. Copy the text from the field."))}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
