// Module hooks: finds the peers in their own folder, and lets packages written for a newer Node load on this one.
let parentURL

export const initialize = (data) => {
  parentURL = data.parentURL
}

/** Compression that this Node does not have; nothing here asks for it. */
const zlib = `export * from "node:zlib"
const missing = () => { throw new Error("expected a Node with zstd") }
export { missing as createZstdDecompress, missing as zstdCompress, missing as zstdDecompress, missing as zstdDecompressSync }`

export const resolve = (specifier, context, next) => {
  const fromPeer = context.parentURL?.includes("/@deepseek-ai/") === true
  if (specifier === "node:zlib" && fromPeer) {
    return { shortCircuit: true, url: `data:text/javascript,${encodeURIComponent(zlib)}` }
  }
  return specifier.startsWith("@deepseek-ai/") && !fromPeer
    ? next(specifier, { ...context, parentURL })
    : next(specifier, context)
}
