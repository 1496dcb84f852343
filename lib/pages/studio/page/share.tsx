/** Where fans find a show, and how other pages, screens and broadcasts show it. */

import { useEffect, useState } from "preact/hooks";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { isLoopback } from "../../../base/text/mod.ts";
import { Qr } from "../../shared/page/qr.tsx";
import type { Resource } from "./api.ts";
import { messageOf } from "./problem.ts";
import { Act, announce, Dialog } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

interface ShareProps {
  /** A place of an event or of a project. */
  readonly context: ViewContext;
  readonly onClose: () => void;
}

export function Share({ context, onClose }: ShareProps) {
  const { chain } = context;
  const [scope, project] = [chain.at(-1), chain.find(({ type }) => type === "projects")];
  const [name, id] = [scope?.type === "events" ? "event" : "project", scope?.id ?? ""];
  if (project === undefined) return null;
  const { consumer, studio } = project.attributes.urls as Readonly<Record<"consumer" | "studio", string>>;
  // The studio may have a host of its own.
  const show = new URL("show", studio).href;
  const own = `${show}?${name}=${id}`;
  const ofApp = new URL(consumer);
  ofApp.searchParams.set(name, id);
  const page = consumer.startsWith(`${show}?`) ? own : ofApp.href;
  const element = `<script type="module" src="${show}/embed.js"></script>\n<grandstand-show ${name}="${id}"></grandstand-show>`;
  const frame = `<iframe src="${own}" title="Live show" width="100%" height="700" loading="lazy"></iframe>`;
  return (
    <Dialog title="Share the show" onClose={onClose} class="share">
      <div class="stack">
        <Qr address={page} label={`QR code of ${page}`} />
        <Copied label="Page for fans" text={page} />
        {isLoopback(new URL(own).hostname) && (
          <p class="quiet">
            Only this machine can open these addresses. For phones, start the server with{" "}
            <code>--host 0.0.0.0</code> and with <code>--public-url</code> and the address of this machine in
            your network, as a demo prints it.
          </p>
        )}
        <Copied label="Embed in your page (grows with its content)" text={element} />
        <Copied label="Embed in your page as a plain frame" text={frame} />
        <Origins context={context} project={project} />
        <Copied label="Big screen" text={`${own}&view=screen`} />
        <Copied label="Overlay for a broadcast" text={`${own}&view=overlay`} />
        <div class="row end">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** Says in whose pages browsers show it, and lets admins add one. */
function Origins({ context, project }: { readonly context: ViewContext; readonly project: Resource }) {
  const [origins, setOrigins] = useState<readonly string[] | null>(null);
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState("");
  const { role, admins } = context;
  const run = (work: () => Promise<void>): void => {
    setFault("");
    work().catch(error => setFault(messageOf(error)));
  };
  useEffect(() => run(async () => setOrigins(originsOf((await readShow(context, project)).show))), []);
  async function add(): Promise<void> {
    const address = typed.trim();
    if (!/^https?:/.test(address) || !URL.canParse(address))
      return setFault("Enter the address of a page, such as https://club.example.");
    const { origin } = new URL(address);
    setOrigins(await allow(context, project, origin));
    setTyped("");
    context.announce(`Pages of ${origin} may show it.`);
  }
  if (origins === null) return fault === "" ? null : <p class="fault">{fault}</p>;
  return (
    <form
      class="stack"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        run(add);
      }}
    >
      <p class="quiet">
        {origins.length === 0
          ? "Until you add the origin of your page, browsers refuse to show it there: they show an error in the frame."
          : `Browsers show it in pages of ${new Intl.ListFormat("en").format(origins)}, and refuse it in others.`}
      </p>
      <div class="copied">
        <label>
          Address of your page
          <input
            type="url"
            value={typed}
            placeholder="https://club.example"
            onInput={event => setTyped(event.currentTarget.value)}
          />
        </label>
        <Act refusal={refusalOf(role, "admin", admins)} onPress={() => run(add)}>
          Allow
        </Act>
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
    </form>
  );
}

async function readShow({ api, signal }: ViewContext, { id }: Resource) {
  const query = { projectId: id, "fields[projects]": "services" };
  const { headers, document } = await api.control.readProject(query, { signal }).whole();
  const { show } = Object(document.data.attributes.services) as Members;
  return { show: isMembers(show) ? show : {}, tag: headers.get("etag") ?? "" };
}

function originsOf({ embed }: Members): readonly string[] {
  return isMembers(embed) && Array.isArray(embed.origins) ? embed.origins.map(String) : [];
}

/** Adds an origin to those of the project, whatever else of its page others have changed. */
async function allow(context: ViewContext, project: Resource, origin: string): Promise<readonly string[]> {
  const { show, tag } = await readShow(context, project);
  const origins = [...new Set([...originsOf(show), origin])];
  const attributes = { services: { show: { ...show, embed: { origins } } } };
  const body = { data: { type: "projects" as const, id: project.id, attributes } };
  await context.api.control.changeProject({ projectId: project.id, body }, { headers: { "if-match": tag } });
  return origins;
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
      {/^https?:/.test(text) && (
        <a href={text} target="_blank" rel="noreferrer" aria-label={`Open: ${label}`}>
          Open
        </a>
      )}
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
