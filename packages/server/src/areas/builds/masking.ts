/** Values that a build was given and nobody else is to read. */

const SECRET = /secret|token|passw|passphrase|pwd|credential|private|api_?key|access_?key|auth/i
const MASK = "***"
const LENGTH_MIN = 4

const isSecretName = (name: string): boolean => SECRET.test(name)

/** As records show them. */
export const shownArgs = (args: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [name, isSecretName(name) ? MASK : value]))

/** Takes secrets out of a text. Short values would take half of every text with them. */
export const createMask = (
  args: Readonly<Record<string, string>>,
  more: readonly string[] = [],
): ((text: string) => string) => {
  const secrets = Object.entries(args)
    .filter(([name]) => isSecretName(name))
    .flatMap(([, value]) => [value, ...value.split("\n")])
    .concat(more)
    .filter(value => value.length >= LENGTH_MIN)
    .sort((one, other) => other.length - one.length)
  return text => secrets.reduce((masked, secret) => masked.replaceAll(secret, MASK), text)
}
