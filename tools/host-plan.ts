/** What `npm run host` installs: pure rules over what a machine is and has. */

export interface Os {
  readonly name: string
  readonly family: "debian" | "ubuntu" | "other"
}

/** Of the text of /etc/os-release (os-release(5)); undefined where there is none. */
export const osOf = (release: string | undefined): Os => {
  const fields = new Map(
    (release ?? "").split("\n").flatMap(line => {
      const [, name, value] = /^([A-Z_]+)=["']?(.*?)["']?$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )
  const kinds = [fields.get("ID") ?? "", ...(fields.get("ID_LIKE") ?? "").split(" ")]
  return {
    name: fields.get("PRETTY_NAME") ?? fields.get("ID") ?? "this system",
    // What is like Ubuntu is like Debian too, and has the kernels of Ubuntu.
    family: kinds.includes("ubuntu") ? "ubuntu" : kinds.includes("debian") ? "debian" : "other",
  }
}

export interface Wanted {
  readonly name: string
  /** Drivers and areas. */
  readonly users: readonly string[]
}

/** Each package once, with all that use it, in the order in which they come. */
export const wantedOf = (
  uses: readonly (readonly [user: string, packages: readonly string[]])[],
): readonly Wanted[] => {
  const users = new Map<string, string[]>()
  for (const [user, packages] of uses)
    for (const name of packages) users.set(name, [...(users.get(name) ?? []), user])
  return [...users].map(([name, all]) => ({ name, users: all }))
}

/** What a machine's package is called that the list calls by its name on x86-64. */
export const packageFor = (name: string, arch: string): string =>
  name === "qemu-system-x86" && arch === "arm64" ? "qemu-system-arm" : name

export interface Plan {
  readonly present: readonly Wanted[]
  readonly install: readonly Wanted[]
  /** What the distribution does not offer. */
  readonly lacking: readonly Wanted[]
}

export const planOf = (
  wanted: readonly Wanted[],
  machine: { readonly installed: ReadonlySet<string>; readonly offered: ReadonlySet<string> },
): Plan => {
  const missing = wanted.filter(({ name }) => !machine.installed.has(name))
  return {
    present: wanted.filter(({ name }) => machine.installed.has(name)),
    install: missing.filter(({ name }) => machine.offered.has(name)),
    lacking: missing.filter(({ name }) => !machine.offered.has(name)),
  }
}

/** The names that `dpkg-query -W -f '${Package} ${db:Status-Status}\n'` calls installed. */
export const installedIn = (text: string): ReadonlySet<string> =>
  new Set(text.split("\n").flatMap(line => /^(\S+) installed$/.exec(line)?.[1] ?? []))

/** The names that `apt-cache policy` has a candidate for. */
export const offeredIn = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split(/\n(?=\S)/)
      .flatMap(part => (/Candidate: (?!\(none\))\S/.test(part) ? (/^(\S+):$/m.exec(part)?.[1] ?? []) : [])),
  )

/** The package that stands for the newest small kernel; a virtual machine boots one. */
export const kernelOf = (family: Os["family"], arch: string): string | undefined => {
  if (family === "debian") return `linux-image-cloud-${arch === "arm64" ? "arm64" : "amd64"}`
  return family === "ubuntu" ? "linux-image-virtual" : undefined
}

/**
 * The packages with its files, of what `apt-cache depends` says of it. Ubuntu has the modules in a package beside that
 * of the image.
 */
export const kernelFilesIn = (text: string): readonly string[] => {
  const image = /^\s+Depends: (linux-image-\d\S*)$/m.exec(text)?.[1]
  if (image === undefined) return []
  return /-cloud-/.test(image) ? [image] : [image, image.replace("linux-image-", "linux-modules-")]
}

export const lineOf = ({ name, users }: Wanted): string => `  ${name.padEnd(20)} for ${users.join(", ")}`
