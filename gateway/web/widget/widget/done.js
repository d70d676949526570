/** What a page does for the agent. */

/** Run what the agent asks of the page; what goes wrong is told to the agent. */
export async function done(tools, name, given) {
  const run = Object.hasOwn(tools, name) ? tools[name] : null;
  if (typeof run !== "function") return { error: "this page does not do that" };
  try {
    return { result: (await run(given)) ?? {} };
  } catch (error) {
    return { error: String(error?.message || error) };
  }
}
