/** The widget's looks. A page changes them by the custom properties that begin with --parley-. */

const light = `
  --_accent: var(--parley-accent, #0d6e6e);
  --_on-accent: var(--parley-on-accent, #fff);
  --_surface: var(--parley-surface, #fff);
  --_raised: var(--parley-raised, #f3f5f6);
  --_ink: var(--parley-ink, #14211f);
  --_soft: var(--parley-soft, #566663);
  --_line: var(--parley-line, #dfe5e4);
  --_you: var(--parley-you, #b4541a);
  --_faint: #c3cdcb;
  --_danger: #b3261e;
  --_leave: var(--parley-leave, #c3291c);
  --_on-leave: var(--parley-on-leave, #fff);
  --_shadow: 0 1px 2px rgb(10 30 28 / .08), 0 12px 40px -8px rgb(10 30 28 / .28);
  color-scheme: light;
`;

const dark = `
  --_accent: var(--parley-accent, #4fd1c0);
  --_on-accent: var(--parley-on-accent, #04231f);
  --_surface: var(--parley-surface, #141b1b);
  --_raised: var(--parley-raised, #202a29);
  --_ink: var(--parley-ink, #eaf2f0);
  --_soft: var(--parley-soft, #9fb1ad);
  --_line: var(--parley-line, #2e3b39);
  --_you: var(--parley-you, #f0a76a);
  --_faint: #44534f;
  --_danger: #ff8a7a;
  --_leave: var(--parley-leave, #cf3a35);
  --_on-leave: var(--parley-on-leave, #fff);
  --_shadow: 0 1px 2px rgb(0 0 0 / .4), 0 16px 48px -8px rgb(0 0 0 / .7);
  color-scheme: dark;
`;

export const css = `
:host {
  ${light}
  display: block;
  font: 400 15px/1.45 var(--parley-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif);
  color: var(--_ink);
  text-align: start;
}
:host([theme="dark"]) { ${dark} }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${dark} } }
:host([hidden]) { display: none; }
:host(:not([position="inline"])) { position: fixed; z-index: var(--parley-z, 2147483000); bottom: 0; right: 0; }
:host([position="bottom-left"]) { right: auto; left: 0; }
:host([position="inline"]) { max-inline-size: 380px; }

*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
h2, p, ol { margin: 0; padding: 0; }
button, input { font: inherit; color: inherit; letter-spacing: inherit; }
button { border: 0; cursor: pointer; background: none; -webkit-tap-highlight-color: transparent; }
button:disabled { cursor: default; opacity: .45; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
svg { display: block; fill: none; stroke: currentColor; stroke-width: 1.9; stroke-linecap: round; stroke-linejoin: round; }

.launcher {
  display: inline-flex; align-items: center; gap: 10px;
  margin: 20px; padding: 0 22px 0 18px; block-size: 56px;
  border-radius: 28px; background: var(--_accent); color: var(--_on-accent);
  font-weight: 600; box-shadow: var(--_shadow);
  transition: transform .16s ease, filter .16s ease;
}
.launcher:hover { transform: translateY(-1px); filter: brightness(1.06); }
.launcher:active { transform: none; }

.card {
  display: flex; flex-direction: column;
  inline-size: 372px; margin: 20px; overflow: hidden;
  max-block-size: min(640px, calc(100vh - 40px)); max-block-size: min(640px, calc(100dvh - 40px));
  background: var(--_surface); border: 1px solid var(--_line);
  border-radius: var(--parley-radius, 22px); box-shadow: var(--_shadow);
}
:host([position="inline"]) .card { inline-size: auto; margin: 0; box-shadow: none; }
.card.enter { animation: enter .24s cubic-bezier(.2, .8, .3, 1); }
@keyframes enter { from { opacity: 0; transform: translateY(14px) scale(.98); } }

header { display: flex; align-items: center; gap: 12px; padding: 16px 12px 14px 18px; }
.mark { display: grid; place-items: center; flex: none; inline-size: 40px; block-size: 40px; border-radius: 13px; background: var(--_accent); color: var(--_on-accent); }
.who { flex: 1; min-inline-size: 0; }
h2 { font-size: 16px; font-weight: 650; line-height: 1.25; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.status { display: flex; align-items: center; gap: 7px; min-block-size: 20px; font-size: 13.5px; line-height: 20px; color: var(--_soft); }
.dot { inline-size: 8px; block-size: 8px; border-radius: 50%; background: var(--_soft); flex: none; }
.live .dot { background: var(--_accent); }
.listening .dot { animation: breathe 2s ease-in-out infinite; }
.thinking .dot { animation: blink 1s steps(2, jump-none) infinite; }
.wait .dot { background: var(--_you); animation: blink 1s steps(2, jump-none) infinite; }
.silenced .dot { background: var(--_you); animation: none; }
.failed .dot { background: var(--_danger); }
@keyframes breathe { 50% { box-shadow: 0 0 0 4px color-mix(in srgb, var(--_accent) 26%, transparent); } }
@keyframes blink { 50% { opacity: .25; } }
.clock { font-variant-numeric: tabular-nums; font-size: 13.5px; color: var(--_soft); padding-inline-end: 4px; }
.icon { display: grid; place-items: center; inline-size: 40px; block-size: 40px; border-radius: 12px; color: var(--_soft); flex: none; }
.icon:hover { background: var(--_raised); color: var(--_ink); }

.meter { display: grid; grid-template: 1fr 1fr / auto 1fr; column-gap: 12px; margin: 0 18px; padding-inline: 14px; border-radius: 14px; background: var(--_raised); }
.meter canvas { grid-area: 1 / 2 / 3 / 3; inline-size: 100%; min-inline-size: 0; block-size: 76px; }
.meter span { font-size: 11.5px; line-height: 1; font-weight: 600; letter-spacing: .01em; }
.meter .a { align-self: end; padding-block-end: 8px; color: var(--_accent); }
.meter .v { padding-block-start: 8px; color: var(--_you); }

.captions {
  flex: 1 1 auto; min-block-size: 132px; overflow-y: auto; overscroll-behavior: contain;
  padding: 14px 18px; display: flex; flex-direction: column; gap: 10px; list-style: none;
  scrollbar-width: thin; scrollbar-color: var(--_line) transparent;
}
.captions > :first-child { margin-block-start: auto; }
.captions > * { max-inline-size: 88%; overflow-wrap: anywhere; }
.captions .caller { align-self: flex-end; padding: 8px 13px; border-radius: 16px 16px 5px 16px; background: color-mix(in srgb, var(--_you) 13%, var(--_surface)); }
.captions .agent { align-self: flex-start; padding: 8px 13px; border-radius: 16px 16px 16px 5px; background: var(--_raised); }
.captions .cut::after { content: "\\2009\\2014"; color: var(--_soft); }
.captions .tool { display: flex; align-items: center; gap: 8px; font-size: 13px; color: var(--_soft); padding-inline-start: 2px; }
.captions .note { align-self: center; text-align: center; font-size: 13px; color: var(--_soft); }
.captions .empty { align-self: center; margin-block: auto; text-align: center; color: var(--_soft); font-size: 14px; }
.spin { inline-size: 14px; block-size: 14px; border-radius: 50%; border: 2px solid var(--_line); border-block-start-color: var(--_accent); animation: spin .8s linear infinite; flex: none; }
@keyframes spin { to { transform: rotate(1turn); } }

form { display: flex; gap: 8px; padding: 0 18px 12px; }
input {
  flex: 1; min-inline-size: 0; block-size: 44px; padding: 0 14px; font-size: 16px;
  border: 1px solid var(--_line); border-radius: 13px; background: var(--_surface);
}
input::placeholder { color: var(--_soft); opacity: 1; }
input:focus { outline: 2px solid var(--_accent); outline-offset: -1px; }
.send { inline-size: 44px; block-size: 44px; border-radius: 13px; background: var(--_raised); color: var(--_accent); display: grid; place-items: center; flex: none; }
.send:not(:disabled):hover { background: var(--_accent); color: var(--_on-accent); }

footer { display: flex; gap: 10px; padding: 12px 18px 18px; border-block-start: 1px solid var(--_line); }
.wide {
  flex: 1; display: inline-flex; align-items: center; justify-content: center; gap: 9px;
  min-block-size: 48px; padding: 6px 16px; border-radius: 15px; font-weight: 600; line-height: 1.2;
}
.first { background: var(--_accent); color: var(--_on-accent); }
.first:disabled { background: var(--_raised); color: var(--_soft); opacity: 1; }
.first:not(:disabled):hover { filter: brightness(1.07); }
.plain { background: var(--_raised); color: var(--_ink); }
.plain:hover { background: var(--_line); }
.plain.off { background: color-mix(in srgb, var(--_you) 14%, var(--_surface)); color: color-mix(in srgb, var(--_you) 78%, var(--_ink)); }
.leave { background: var(--_leave); color: var(--_on-leave); }
.leave:hover { filter: brightness(1.07); }

.pane { display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 10px; padding: 22px 26px 26px; text-align: center; min-block-size: 190px; }
.pane strong { font-size: 17px; font-weight: 650; }
.pane p { color: var(--_soft); text-wrap: pretty; }
.sign { display: grid; place-items: center; inline-size: 56px; block-size: 56px; border-radius: 50%; background: var(--_raised); color: var(--_accent); }
.failed .sign { color: var(--_danger); background: color-mix(in srgb, var(--_danger) 12%, var(--_surface)); }
.stack { flex-direction: column; }
.stack .wide { flex: none; inline-size: 100%; }
.hidden { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.proposal { display: grid; grid-template-columns: 1fr 1fr; gap: 8px 10px; margin: 0 18px 12px; padding: 12px 14px; border-radius: 14px; background: var(--_raised); }
.proposal p { grid-column: 1 / 3; font-weight: 550; }
.proposal .plain { background: var(--_surface); }
.proposal .wide { min-block-size: 42px; }
.devices { display: grid; gap: 8px; padding: 0 18px 12px; }
.devices label { display: flex; align-items: center; gap: 10px; font-size: 13px; color: var(--_soft); }
.devices span { flex: none; min-inline-size: 84px; }
select {
  flex: 1; min-inline-size: 0; block-size: 36px; padding: 0 8px; font: inherit; color: var(--_ink);
  border: 1px solid var(--_line); border-radius: 10px; background: var(--_surface);
}
.pane .consent { font-size: 13px; }
.said .pane { flex: none; min-block-size: 0; padding-block: 14px 10px; gap: 4px; }
.said .sign { display: none; }

@media (max-width: 480px) {
  :host(:not([position="inline"])) .card {
    inline-size: 100vw; margin: 0; max-block-size: 88dvh; border-inline: 0; border-block-end: 0;
    border-end-start-radius: 0; border-end-end-radius: 0;
    padding-block-end: env(safe-area-inset-bottom);
  }
  .launcher { margin: 16px; margin-block-end: calc(16px + env(safe-area-inset-bottom)); }
}
/* A telephone held sideways, or a page at 400 %: the buttons stay, the words scroll. */
@media (max-height: 500px) {
  .card { max-block-size: 100dvh; margin-block: 0; overflow-y: auto; }
  :host(:not([position="inline"])) .card { max-block-size: 100dvh; }
  header { padding: 6px 8px 4px 12px; }
  .mark, .meter { display: none; }
  .captions { min-block-size: 0; padding-block: 6px; gap: 6px; }
  form { padding: 0 12px 6px; }
  input, .send { block-size: 38px; }
  footer { padding: 6px 12px 8px; flex: none; position: sticky; bottom: 0; background: var(--_surface); }
  .wide { min-block-size: 40px; padding-block: 2px; }
  .pane { min-block-size: 0; padding: 8px 16px; gap: 4px; flex: none; }
  .sign { display: none; }
}
@media (max-height: 500px) and (min-width: 560px) {
  .stack { flex-direction: row; }
  .stack .wide { flex: 1; inline-size: auto; }
}
@media (max-height: 320px) {
  .stack { flex-direction: row; }
  .stack .wide { flex: 1; inline-size: auto; }
  .wide { font-size: 13px; padding-inline: 8px; gap: 6px; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
@media (forced-colors: active) { .card, .launcher, .wide, .send, input { border: 1px solid; } }
`;
