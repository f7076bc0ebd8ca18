# Runs test modules of python, and prints the names and results of the tests.
import io, sys, unittest, importlib
total = 0
for name in sys.argv[1:]:
    module = importlib.import_module("test." + name)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    total += result.testsRun
    print(name, result.testsRun, len(result.skipped), [str(t) for t, _ in result.failures + result.errors])
    for _, text in result.failures + result.errors: print(text)
print("tests", total)
