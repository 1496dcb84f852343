/**
 * The element `<grandstand-show>`, for pages of others: the show in a frame as high as its content. It is a script of its own, which a
 * page loads from `show/embed.js` of the platform.
 */

import type { Hello, ToHost, ToShow } from "./embedded.ts";

const hello: Hello = "grandstand:host";
const name = "grandstand-show";
/** The script is in a folder below the page, whatever prefix the platform has. */
const page = new URL("../show", import.meta.url);
const parameters = ["event", "project", "element", "locale", "theme"];
const sheet = new CSSStyleSheet();
sheet.replaceSync(":host,iframe{display:block}iframe{width:100%;height:32rem;border:0}");

class GrandstandShow extends HTMLElement {
  static readonly observedAttributes = [...parameters, "token"];
  readonly #root = this.attachShadow({ mode: "open" });
  #frame: HTMLIFrameElement | undefined;
  #port: MessagePort | undefined;

  connectedCallback(): void {
    this.#root.adoptedStyleSheets = [sheet];
    this.#draw();
  }

  disconnectedCallback(): void {
    this.#frame?.remove();
    this.#port?.close();
    this.#frame = this.#port = undefined;
  }

  attributeChangedCallback(changed: string): void {
    if (this.#frame === undefined) return;
    if (changed === "token") this.#sendToken();
    else this.#draw();
  }

  /** Shows the page in a new frame: another address in the old one would be a step of the tab's history. */
  #draw(): void {
    this.disconnectedCallback();
    const frame = document.createElement("iframe");
    const address = new URL(page);
    for (const each of parameters) {
      const value = this.getAttribute(each);
      if (value !== null) address.searchParams.set(each, value);
    }
    frame.title = this.title || "Live show";
    frame.loading = "lazy";
    frame.allow = "fullscreen";
    frame.src = address.href;
    frame.onload = () => this.#connect(frame);
    this.#frame = frame;
    this.#root.append(frame);
  }

  /** Opens a channel to the page. Its address says who may have the other end: no page that came in its place. */
  #connect(frame: HTMLIFrameElement): void {
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<ToHost>) => {
      if ("height" in data) frame.style.height = `${data.height}px`;
      else if ("top" in data) frame.scrollIntoView();
      else {
        const { type, detail } = data;
        this.dispatchEvent(new CustomEvent(`grandstand:${type}`, { detail, bubbles: true, composed: true }));
      }
    };
    this.#port = port1;
    frame.contentWindow?.postMessage(hello, page.origin, [port2]);
    this.#sendToken();
  }

  #sendToken(): void {
    const message: ToShow = { token: this.getAttribute("token") };
    this.#port?.postMessage(message);
  }
}

if (customElements.get(name) === undefined) customElements.define(name, GrandstandShow);
