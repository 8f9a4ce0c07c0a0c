export default { cacheDir: "../../node_modules/.vite", test: { include: ["*.vitest.test.mjs"] } };
