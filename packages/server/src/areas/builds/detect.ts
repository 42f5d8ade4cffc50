/** The Dockerfile that a folder without one would need. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { BuildError } from "./build-error.ts"
import { madeBaseNames } from "./engine/made-bases.ts"
import { resolveIn, statIn } from "./engine/trees.ts"

export interface Detected {
  readonly kind: string
  readonly dockerfile: string
}

const FILE_BYTES_MAX = 1024 ** 2
const PORT = 8080

const [NODE = "svc/node:24"] = madeBaseNames.filter(name => name.startsWith("svc/node"))

interface Folder {
  has(path: string): boolean
  read(path: string): Promise<string>
}

const folderAt = (root: string): Folder => {
  const statOf = (path: string) => statIn(root, resolveIn(root, path, true))
  return {
    has: path => statOf(path) !== undefined,
    async read(path) {
      const stat = statOf(path)
      if (!stat?.isFile() || stat.size > FILE_BYTES_MAX) return ""
      return await readFile(join(root, ...resolveIn(root, path, true)), "utf8")
    },
  }
}

interface Package {
  readonly scripts?: Readonly<Record<string, unknown>>
  readonly main?: unknown
  readonly dependencies?: object
  readonly devDependencies?: object
}

const packageOf = (text: string): Package => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value : {}
  } catch {
    throw new BuildError("package.json is no JSON")
  }
}

const count = (list: object | undefined): number => Object.keys(list ?? {}).length

/** The web process of a Procfile. */
const processOf = (text: string): string | undefined => {
  const lines = text.split("\n").flatMap(line => /^([\w-]+):\s*(\S.*)$/.exec(line.trim()) ?? [])
  for (let at = 0; at + 2 < lines.length; at += 3) if (lines[at + 1] === "web") return lines[at + 2]
  return undefined
}

const shellCommand = (command: string) => `CMD ${command}`
const environment = `ENV PORT=${PORT}\nEXPOSE ${PORT}`

const ofNode = async (folder: Folder, started: string | undefined): Promise<Detected> => {
  const { scripts = {}, main, dependencies, devDependencies } = packageOf(await folder.read("package.json"))
  const builds = typeof scripts.build === "string"
  const lock = folder.has("package-lock.json")
  const needsInstall = count(dependencies) + (builds ? count(devDependencies) : 0) > 0
  const isBrought = folder.has("node_modules")
  const file =
    typeof main === "string" && folder.has(main)
      ? main
      : ["server.js", "index.js", "app.js", "main.js", "server.mjs", "index.mjs"].find(folder.has)
  const start = typeof scripts.start === "string" ? scripts.start : undefined
  const command =
    started ?? (start !== undefined ? start : file !== undefined ? `exec node ${file}` : undefined)
  if (command === undefined)
    throw new BuildError(
      "package.json has neither a `start` script nor a `main` file; add one, a Procfile or a Dockerfile",
    )
  const install = lock ? "npm ci" : "npm install"
  return {
    kind: "node",
    dockerfile: [
      `FROM ${NODE}`,
      "WORKDIR /app",
      ...(needsInstall && !isBrought
        ? [
            `COPY package.json ${lock ? "package-lock.json " : ""}./`,
            `RUN ${install}${builds ? "" : " --omit=dev"}`,
          ]
        : []),
      "COPY . .",
      ...(builds ? ["RUN npm run build"] : []),
      // Programs of packages are called by their names in scripts.
      "ENV NODE_ENV=production PATH=/app/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      environment,
      "USER 1000:1000",
      shellCommand(command),
    ].join("\n"),
  }
}

const ofPython = async (folder: Folder, started: string | undefined): Promise<Detected> => {
  const file = ["main.py", "app.py", "server.py", "manage.py"].find(folder.has)
  const command =
    started ??
    (file === "manage.py" ? `python3 manage.py runserver 0.0.0.0:${PORT}` : file && `exec python3 ${file}`)
  if (!command)
    throw new BuildError(
      "there is neither main.py, app.py nor server.py; add one, a Procfile or a Dockerfile",
    )
  const requirements = await folder.read("requirements.txt")
  const needsInstall = requirements.split("\n").some(line => /^\s*[^#\s]/.test(line))
  return {
    kind: "python",
    dockerfile: [
      "FROM svc/python:3",
      "WORKDIR /app",
      ...(needsInstall
        ? [
            "COPY requirements.txt ./",
            "RUN python3 -m pip install --no-cache-dir --break-system-packages -r requirements.txt",
          ]
        : []),
      "COPY . .",
      `ENV PYTHONUNBUFFERED=1\n${environment}`,
      "USER 1000:1000",
      shellCommand(command),
    ].join("\n"),
  }
}

const ofGo = (started: string | undefined): Detected => ({
  kind: "go",
  dockerfile: [
    "FROM golang:1 AS build",
    "WORKDIR /src",
    "COPY . .",
    "RUN CGO_ENABLED=0 go build -o /out/app .",
    "FROM scratch",
    "COPY --from=build /out/app /app",
    "COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/",
    environment,
    "USER 1000:1000",
    started === undefined ? 'ENTRYPOINT ["/app"]' : `ENTRYPOINT ${JSON.stringify(started.split(/\s+/))}`,
  ].join("\n"),
})

const ofStatic = (folder: Folder): Detected => {
  const at = ["index.html", "public/index.html", "dist/index.html"].find(folder.has) ?? "index.html"
  const from = at.includes("/") ? `${at.split("/")[0]}/` : "."
  return {
    kind: "static",
    dockerfile: [
      "FROM svc/static",
      `COPY ${from} /srv/`,
      environment,
      "USER 1000:1000",
      'CMD ["node", "/usr/local/lib/static-server.mjs", "/srv"]',
    ].join("\n"),
  }
}

/** `root`: the context. Throws a BuildError where nothing is found that could be run. */
export const detect = async (root: string): Promise<Detected> => {
  const folder = folderAt(root)
  const started = processOf(await folder.read("Procfile"))
  if (folder.has("package.json")) return await ofNode(folder, started)
  if (["requirements.txt", "pyproject.toml", "main.py", "app.py", "server.py"].some(folder.has))
    return await ofPython(folder, started)
  if (folder.has("go.mod")) return ofGo(started)
  if (["index.html", "public/index.html", "dist/index.html"].some(folder.has)) return ofStatic(folder)
  if (started !== undefined)
    return {
      kind: "procfile",
      dockerfile: [
        `FROM ${NODE}`,
        "WORKDIR /app",
        "COPY . .",
        environment,
        "USER 1000:1000",
        shellCommand(started),
      ].join("\n"),
    }
  throw new BuildError(
    "there is no Dockerfile, and nothing that tells what would be in it: no package.json, requirements.txt, go.mod, index.html or Procfile",
  )
}
