import { runProgram } from "./bundle.js"

await runProgram("main", { makesBundle: true })
