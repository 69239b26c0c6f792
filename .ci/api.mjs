// The API reference from the doc comments, into `docs/api`, which git ignores. Fails on whatever there is to warn of, such as a link to
// nothing.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Application } from "typedoc"

const modules = readdirSync("packages", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => {
    const source = join("packages", name, "src")
    return readdirSync(source, { recursive: true })
      .filter((file) => /^[A-Z]\w*(\/[A-Z]\w*)*\.ts$/.test(file))
      .map((file) => join(source, file))
  })

const application = await Application.bootstrap({
  name: "Afterturn",
  entryPoints: modules,
  out: "docs/api",
  readme: "README.md",
  excludeExternals: true,
  excludeInternal: true,
  disableSources: true,
  githubPages: false,
  // Whoever reads a service's members wants the same name as in an import.
  alwaysCreateEntryPointModule: true,
  validation: { invalidLink: true, notExported: false, notDocumented: false },
  treatValidationWarningsAsErrors: true,
  treatWarningsAsErrors: true,
  logLevel: "Warn"
})
const project = await application.convert()
if (project === undefined) process.exit(1)
application.validate(project)
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exit(1)
await application.generateOutputs(project)
console.log(`${modules.length} modules: docs/api/index.html`)
