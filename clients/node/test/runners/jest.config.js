module.exports = { testMatch: ["<rootDir>/*.jest.js"], testEnvironment: "node" };
